"""Every control of the explorer, moved as a hand would, and the drawn number against the program's own answer.

The page says with each answer which command gives it. So a test moves a control, reads that command off the page, asks the
native program, and compares its number with the drawn one (which has three digits).
"""

import json
import shlex
import subprocess

import browser as chromium

check = chromium.check

# Draws are counted; an answer that did not change is drawn as well.
CONTROLS = """(() => [...document.querySelectorAll('.controls select, .controls input:not([type=file])')]
    .filter((n) => !n.classList.contains('exact') && n.closest('.control'))
    .map((n, i) => ({i, kind: n.tagName === 'SELECT' ? 'choice' : n.type, label: (n.getAttribute('aria-label') || n.closest('.control').querySelector('label')?.textContent || '').replace(', slider', ''),
        options: n.tagName === 'SELECT' ? [...n.options].map((o) => o.value) : []})))()"""
MOVE = """(async () => {
    const nodes = [...document.querySelectorAll('.controls select, .controls input:not([type=file])')].filter((n) => !n.classList.contains('exact') && n.closest('.control'));
    const node = nodes[%d];
    const to = %s;
    const draws = explorer.drawn;
    if (node.type === 'range') node.value = Number(node.min) + to * (node.max - node.min);
    else if (node.type === 'checkbox') node.checked = to;
    else node.value = to;
    node.dispatchEvent(new Event(node.tagName === 'SELECT' || node.type === 'checkbox' ? 'change' : 'input', {bubbles: true}));
    for (let i = 0; i < 100 && explorer.drawn === draws; ++i) await new Promise(requestAnimationFrame);
    return explorer.lastMs;
})()"""
SEEN = """(() => ({
    command: document.querySelector('.commands code')?.textContent,
    figures: Object.fromEntries([...document.querySelectorAll('.figures div')].map((n) => [n.children[0].textContent, n.children[1].textContent])),
    bars: [...document.querySelectorAll('.bars')].map((t) => Object.fromEntries([...t.querySelectorAll('tr')].map((r) => [r.querySelector('th').textContent, r.querySelector('.number').textContent]))),
    sentence: document.querySelector('.answers p')?.textContent || null,
    problem: document.querySelector('.answer .problem')?.textContent || null,
}))()"""

TIMES = {"s": 1e6, "ms": 1e3, "µs": 1.0, "ns": 1e-3}
SIZES = {"TiB": 2.0**40, "GiB": 2.0**30, "MiB": 2.0**20, "KiB": 2.0**10, "B": 1.0}


def value_of(text, units):
    number, unit = text.split()[:2]
    return float(number) * units[unit.rstrip(",:;")]


def same(drawn, answered):
    return abs(drawn / answered - 1) < 0.006 if answered else drawn == 0


class Program:
    """The native program; answers are kept, because many moves lead to the same question."""

    def __init__(self, path):
        self.path = path
        self.known = {}

    def answer(self, words):
        key = tuple(words)
        if key not in self.known:
            run = subprocess.run([self.path, *words, "--format", "json"], capture_output=True, text=True)
            self.known[key] = json.loads(run.stdout) if run.stdout.strip() else {"error": run.stderr}
        return self.known[key]


def operation_words(text):
    """"matmul m=4096 accumulate" as words of `ridge predict`."""
    words = []
    for part in shlex.split(text):
        name, equals, value = part.partition("=")
        if not words:
            words.append(name)
        else:
            words += ["--" + name.replace("_", "-"), value] if equals else ["--" + name.replace("_", "-")]
    return words


def judge_roofline(program, seen, words):
    options = dict(zip(words[1::2], words[2::2]))
    answer = program.answer(["predict", *operation_words(options["--op"]), "--gpu", options["--gpu"]])
    if not answer.get("time_us"):
        return bool(seen["problem"])
    if not seen["sentence"] or seen["sentence"] == seen["problem"]:
        return not answer["flop"]  # nothing to draw
    return same(value_of(seen["sentence"].split(": ", 1)[1], TIMES), answer["time_us"])


def judge_operation(program, seen, words):
    answer = program.answer(words)
    if "time_us" not in answer:
        return bool(seen["problem"])
    return same(value_of(seen["figures"]["time"], TIMES), answer["time_us"])


def judge_memory(program, seen, words):
    answer = program.answer(words)
    if "error" in answer:
        return bool(seen["problem"])
    if words[0] == "vram":
        return same(value_of(seen["bars"][0]["flash2"], SIZES), answer["total_bytes"])
    return same(value_of(seen["figures"]["at the peak"], SIZES), sum(answer["peak_parts_bytes"].values()))


def judge_model(program, seen, words):
    answer = program.answer(words)
    if not answer.get("wall_us"):
        return bool(seen["problem"]) and "a step" not in seen["figures"]
    return "a step" in seen["figures"] and same(value_of(seen["figures"]["a step"], TIMES), answer["wall_us"])


def judge_compare(program, seen, words):
    rows = program.answer(words)
    if isinstance(rows, dict):
        return bool(seen["problem"])
    times = sorted(row.get("wall_us") or row["time_us"] for row in rows if row.get("time_us"))
    drawn = [value_of(text, TIMES) for text in seen["bars"][0].values()] if seen["bars"] else []
    return len(drawn) == len(times) and all(same(a, b) for a, b in zip(drawn, times))


JUDGES = {"roofline": judge_roofline, "operation": judge_operation, "memory": judge_memory, "model": judge_model, "compare": judge_compare}


def moves_of(control):
    """Where a control goes: sliders to three places, choices to at most three others, boxes on and off."""
    if control["kind"] == "range":
        return [0.15, 0.4, 0.7]
    if control["kind"] == "checkbox":
        return ["true", "false"]
    if control["kind"] == "choice" and control["label"] not in ("Operation", "Question", "Of what", "What", "Add a GPU"):
        options = control["options"]
        return [json.dumps(each) for each in [*options[1 :: max(1, len(options) // 3)][:3], options[0]]]
    return []


def drive(browser, program, address):
    """Moves each control of one address and returns how many answers were compared."""
    view = address[1:].split("?")[0]
    compared = 0

    def show():
        browser.run(f"explorer.read({json.dumps(address)}); explorer.show(); 1")

    show()
    for control in browser.run(CONTROLS):
        for to in moves_of(control):
            browser.run(MOVE % (control["i"], to))
            seen = browser.run(SEEN)
            words = shlex.split(seen["command"])[1:]
            compared += 1
            check(JUDGES[view](program, seen, words), f"{address}: {control['label']} at {to}: the page says {seen['sentence'] or seen['figures'] or seen['bars'] or seen['problem']}, not what `ridge {' '.join(words)}` answers")
            if control["label"] == "Phase":
                show()  # it makes other controls
        if moves_of(control):
            show()
    return compared


def addresses(program):
    operations = [each["op"] for each in program.answer(["ops"])]
    return [*[f"#operation?op={op}" for op in operations],
            *[f"#roofline?op={op}" for op in ("matmul", "attention", "softmax", "elementwise")], "#roofline?op=matmul&other=b200",
            "#memory", "#memory?what=model", "#model", "#model?phase=train", "#model?phase=prefill&model=qwen3-8b",
            "#compare", "#compare?op=attention", "#compare?what=model"]


def check_controls(browser, ridge):
    program = Program(ridge)
    compared = sum(drive(browser, program, address) for address in addresses(program))
    print(f"controls: {compared} moves compared with the program")
    check(compared > 300, f"only {compared} moves were compared")


def check_slow_views(browser, ridge):
    """Plan and serving, which the worker answers: the drawn verdict and points are the program's."""
    program = Program(ridge)
    for address, word in (("#model?show=plan&model=llama-3.1-70b", "verdict"), ("#model?show=plan&phase=train&model=llama-3.2-1b&seq=1024", "verdict"), ("#model?show=serving&model=qwen3-8b", "serving"), ("#model?show=load&rate=2,5", "load")):
        browser.run(f"location.hash = {json.dumps(address)}; new Promise((done) => setTimeout(done, 100))")
        browser.run("(async () => { for (let i = 0; i < 600 && !document.querySelector('.answer .page'); ++i) await new Promise((done) => setTimeout(done, 50)); })()")
        text = browser.run("document.querySelector('.answer').textContent")
        words = shlex.split(browser.run("document.querySelector('.commands code').textContent"))[1:]
        answer = program.answer(words)
        if word == "verdict":
            check(answer["verdict"] in text, f"{address}: the verdict '{answer.get('verdict')}' is not drawn")
        elif word == "load":
            cells = browser.run("[...document.querySelectorAll('.answer td')].map((n) => n.textContent)")
            drawn = [value_of(cell, TIMES) for cell in cells if len(cell.split()) == 2 and cell.split()[1] in TIMES]
            latencies = [load["ttft"]["p50_us"] for load in answer["loads"]]
            check(len(latencies) == 2 and all(any(same(cell, latency) for cell in drawn) for latency in latencies), f"{address}: latencies {latencies} are not all drawn")
        else:
            cells = browser.run("[...document.querySelectorAll('.answer td')].map((n) => Number(n.textContent))")
            rates = [point["tokens_per_s_per_gpu"] for point in answer["points"] if point["fits"]]
            check(len(rates) > 3 and all(any(cell and same(cell, rate) for cell in cells) for rate in rates), f"{address}: rates {rates} are not all drawn")
