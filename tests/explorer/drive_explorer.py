#!/usr/bin/env python3
"""Drives the explorer in headless Chromium, as a person would: every view, sliders, addresses, dropped files.
Usage: drive_explorer.py EXPLORER.html RIDGE ROOT [FOLDER [AXE.js]]
RIDGE is the native program, whose answers the page must show. With FOLDER, screenshots at 420, 1280 and 1920 pixels, light
and dark, are kept there. With AXE.js (axe-core), every view must have no violation. Exits with 1 and the failures.
"""

import base64
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import browser as chromium
import explorer_controls
import explorer_lessons

check = chromium.check
VIEWS = ("roofline", "operation", "memory", "model", "compare", "data", "lessons")
READY = """new Promise((done) => { const wait = () => document.documentElement.classList.contains('ready')
    ? requestAnimationFrame(() => requestAnimationFrame(() => done(1))) : setTimeout(wait, 20); wait(); })"""


def show(browser, address):
    """Goes to an address within the page and waits until it is drawn."""
    browser.run(f"location.hash = {json.dumps(address)}; new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(1)), 60))")


def settle(browser, milliseconds):
    browser.run(f"new Promise((done) => setTimeout(done, {milliseconds}))")


def until(browser, expression, seconds=10):
    """Waits until the page's `expression` holds, however slow the machine; returns whether it does."""
    return browser.run(f"""(async () => {{
        const end = performance.now() + {seconds * 1000};
        const holds = () => Boolean({expression});
        while (!holds() && performance.now() < end) await new Promise((done) => setTimeout(done, 20));
        return holds();
    }})()""")


def settle_after_reload(browser):
    for _ in range(100):
        time.sleep(0.1)
        try:
            if browser.run("document.documentElement.classList.contains('ready')"):
                return
        except RuntimeError:
            continue  # the page is being replaced


def native(ridge, *words):
    return json.loads(subprocess.run([ridge, *words, "--format", "json"], capture_output=True, text=True, check=True).stdout)


def drag(browser, label, share):
    """Moves the slider of that label and returns how many milliseconds the answer took, and the value."""
    return browser.run(f"""(async () => {{
        const range = document.querySelector('input[type=range][aria-label="{label}, slider"]');
        const draws = explorer.drawn;
        range.value = Number(range.min) + {share} * (range.max - range.min);
        range.dispatchEvent(new Event('input', {{bubbles: true}}));
        while (explorer.drawn === draws) await new Promise(requestAnimationFrame);
        return [explorer.lastMs, range.closest('.control').querySelector('.exact').value];
    }})()""")


def figures(browser):
    return browser.run("Object.fromEntries([...document.querySelectorAll('.figures div')].map((n) => [n.children[0].textContent, n.children[1].textContent]))")


def number(text):
    value, unit = text.split(" ")[:2]
    return float(value) * {"s": 1e6, "ms": 1e3, "µs": 1.0, "ns": 1e-3}[unit]


def check_start(browser, page):
    browser.open(page, 1280, False)
    browser.run(READY)
    paint = browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    ready = browser.run("performance.now()")
    print(f"first paint after {paint:.0f} ms, ready by {ready:.0f} ms")
    check(paint < 1000, f"first paint after {paint:.0f} ms")


def check_answers(browser, ridge):
    """What is drawn while a slider moves is what the program answers, and quickly."""
    slow = []
    show(browser, "#operation?op=matmul")
    for share in (0.1, 0.25, 0.4, 0.5, 0.62, 0.75, 0.9):
        for label in ("m", "n", "k"):
            took, _ = drag(browser, label, share)
            slow.append(took)
        sizes = dict(zip("mnk", (drag(browser, label, share)[1] for label in "mnk")))
        answer = native(ridge, "predict", "matmul", *[word for name, size in sizes.items() for word in (f"--{name}", size)], "--gpu", "h100-sxm")
        shown = number(figures(browser)["time"])
        check(abs(shown / answer["time_us"] - 1) < 0.006, f"{sizes}: {shown} us drawn, {answer['time_us']} us predicted")
    print(f"operation: an answer takes {statistics.median(slow):.1f} ms in the median, {max(slow):.1f} ms at most")
    check(statistics.median(slow) < 16, f"the median answer of an operation takes {statistics.median(slow):.1f} ms")

    slow = []
    show(browser, "#roofline?op=matmul")
    for share in (0.1, 0.3, 0.5, 0.55, 0.6, 0.8, 0.9):
        took, size = drag(browser, "m", share)
        slow.append(took)
        answer = native(ridge, "predict", "matmul", "--m", size, "--n", "4096", "--k", "4096", "--gpu", "h100-sxm")
        # The ordinate of the drawn mark.
        rate = browser.run("(() => { const label = document.querySelector('.answers p').textContent; return label; })()")
        shown = number(rate.split(": ")[1].split(",")[0])
        check(abs(shown / answer["time_us"] - 1) < 0.006, f"m = {size}: '{rate}', {answer['time_us']} us predicted")
    print(f"roofline: an answer takes {statistics.median(slow):.1f} ms in the median, {max(slow):.1f} ms at most")
    check(statistics.median(slow) < 16, f"the median answer of the roofline takes {statistics.median(slow):.1f} ms")

    slow = []
    show(browser, "#model?show=step")
    for share in (0.05, 0.2, 0.4, 0.6):
        took, size = drag(browser, "sequences", share)
        slow.append(took)
        answer = native(ridge, "model", "llama-3.1-8b", "--phase", "decode", "--batch", size, "--seq", "2048", "--gpu", "h100-sxm", "--software", "serving")
        shown = number(figures(browser)["a step"])
        check(abs(shown / answer["wall_us"] - 1) < 0.006, f"batch {size}: {shown} us drawn, {answer['wall_us']} us predicted")
    print(f"model: a step takes {statistics.median(slow):.1f} ms in the median, {max(slow):.1f} ms at most")
    check(statistics.median(slow) < 50, f"the median step of a model takes {statistics.median(slow):.1f} ms")


def check_address(browser, page):
    """An address restores the view."""
    show(browser, "#operation?op=softmax&rows=1234&cols=2048&gpu=a100-sxm-80gb")
    before = browser.run("document.querySelector('.answer').textContent")
    check(browser.run("document.querySelector('.exact').value") == "1234", "the address does not set rows")
    browser.run("document.documentElement.classList.remove('ready'); setTimeout(() => location.reload())")
    settle_after_reload(browser)
    browser.run(READY)
    check(until(browser, f"document.querySelector('.answer').textContent === {json.dumps(before)}"), "a reload shows something else")
    check("ridge predict softmax --rows 1234" in before, "the command is not shown")


def drop(browser, name, content):
    text = json.dumps(list(content))
    return browser.run(f"""(async () => {{
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array({text})], {json.dumps(name)}));
        document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {{dataTransfer: transfer, bubbles: true, cancelable: true}}));
        for (let i = 0; i < 200 && !(document.querySelector('.own h2')?.textContent === {json.dumps(name)} && document.querySelector('.own').querySelector('.commands, .problem') && !document.querySelector('.own .stale, .own .waiting')); ++i) await new Promise((done) => setTimeout(done, 50));
        return document.querySelector('.own').textContent;
    }})()""")


def press_tab(browser, title):
    return browser.run(f"""(async () => {{
        const own = document.querySelector('.own');
        [...own.querySelectorAll('button')].find((n) => n.textContent === {json.dumps(title)}).click();
        await new Promise((done) => setTimeout(done, 50));
        for (let i = 0; i < 200 && (own.querySelector('.stale, .waiting') || !own.querySelector('.commands, .problem')); ++i) await new Promise((done) => setTimeout(done, 50));
        return own.textContent;
    }})()""")


def large_trace(root, times):
    """The events of a trace, again and again, as a file too large to be read while a page waits."""
    trace = json.loads(gzip.decompress((root / "tests" / "programs" / "traces" / "trace_llama_prefill.json.gz").read_bytes()))
    head = {name: value for name, value in trace.items() if name != "traceEvents"}
    events = json.dumps(trace["traceEvents"])[1:-1]
    return (json.dumps(head)[:-1] + ', "traceEvents": [' + ", ".join([events] * times) + "]}").encode()


def check_heavy(browser, root):
    """A heavy file leaves the page alive, shows how far it is, and can be cancelled by keyboard; what follows works."""
    show(browser, "#data")
    browser.run("[...document.querySelectorAll('.own .head button')].forEach((n) => n.click())")
    packed = base64.b64encode(gzip.compress(large_trace(root, 200), 1)).decode()
    found = browser.run(f"""(async () => {{
        const bytes = Uint8Array.from(atob({json.dumps(packed)}), (letter) => letter.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], 'heavy.json.gz'));
        let longest = 0;
        let last = performance.now();
        let watching = true;
        const watch = () => {{
            longest = Math.max(longest, performance.now() - last);
            last = performance.now();
            if (watching) requestAnimationFrame(watch);
        }};
        requestAnimationFrame(watch);
        document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {{dataTransfer: transfer, bubbles: true, cancelable: true}}));
        const texts = new Set();
        for (let i = 0; i < 100 && !texts.size; ++i) {{
            await new Promise((done) => setTimeout(done, 20));
            const text = document.querySelector('.own .waiting span')?.textContent;
            if (text) texts.add(text);
        }}
        await new Promise((done) => setTimeout(done, 100));
        texts.add(document.querySelector('.own .waiting span')?.textContent);
        document.querySelector('.own .waiting button')?.focus();
        watching = false;
        return [longest, [...texts]];
    }})()""")
    print(f"a heavy trace: the page answers within {found[0]:.0f} ms while it says {found[1]}")
    check(found[0] < 300, f"the page stood still for {found[0]:.0f} ms")
    check(any(text and "heavy.json.gz" in text for text in found[1]), f"no progress is shown: {found[1]}")
    browser.press("Enter", number=13)
    cancelled = until(browser, "document.querySelector('.own').textContent.includes('Cancelled')")
    text = browser.run("document.querySelector('.own').textContent")
    check(cancelled, f"Cancel does not cancel: {text[:200]}")
    text = drop(browser, "after.csv", b"op,m,n,k,time_us\nmatmul,4096,4096,4096,300\n")
    check("expected" in text, f"after a cancel nothing is answered: {text[:200]}")


def settled_controls(browser):
    """How many controls take the focus, once nothing is awaited and their list has not changed for half a second."""
    return browser.run("""(async () => {
        const seen = () => [...document.querySelectorAll('main a[href], main button, main select, main input, main summary, main [tabindex="0"]')].filter((n) => n.checkVisibility() && !n.closest('details:not([open]) > :not(summary)'));
        let last = seen();
        for (let i = 0, same = 0; i < 200 && same < 10; ++i) {
            await new Promise((done) => setTimeout(done, 50));
            const now = seen();
            same = !document.querySelector('.stale, .waiting') && now.length === last.length && now.every((n, at) => n === last[at]) ? same + 1 : 0;
            last = now;
        }
        return last.length;
    })()""")


def check_keyboard(browser):
    """Every view by keyboard alone: links, controls and charts take the focus in turn, visibly, and answer to keys."""
    for view in VIEWS:
        show(browser, "#" + view)
        wanted = settled_controls(browser)
        browser.run("document.activeElement.blur(); document.querySelector('#views a').focus()")
        reached = set()
        for _ in range(wanted + 12):
            browser.press("Tab", number=9)
            at = browser.run("(() => { const n = document.activeElement; const all = [...document.querySelectorAll('main *')]; const s = getComputedStyle(n); return [all.indexOf(n), s.outlineStyle !== 'none' || s.boxShadow !== 'none', n.tagName + ' ' + (n.getAttribute('aria-label') || n.textContent.slice(0, 20))]; })()")
            if at[0] >= 0:
                reached.add(at[0])
                check(at[1], f"{view}: the focus on {at[2]} cannot be seen")
        check(len(reached) >= wanted, f"{view}: {len(reached)} of {wanted} controls are reached by Tab")
    show(browser, "#operation?op=matmul")
    before = figures(browser)["time"]
    browser.run("document.querySelector('input[type=range]').focus()")
    for _ in range(20):
        browser.press("ArrowRight", number=39)
    settle(browser, 60)
    moved = until(browser, f"[...document.querySelectorAll('.figures div')].some((n) => n.children[0].textContent === 'time' && n.children[1].textContent !== {json.dumps(before)})")
    check(moved, "arrow keys do not move a slider")
    browser.run("[...document.querySelectorAll('#views a')].find((n) => n.textContent === 'Memory').focus()")
    browser.press("Enter", number=13)
    check(until(browser, "document.querySelector('h1').textContent === 'Memory'"), "Enter on a link does not open its view")


def check_network(browser):
    """Nothing was asked of the network, by page or worker, and the page's policy forbids it."""
    outside = [address for address in browser.requests if not address.startswith(("file:", "blob:", "data:"))]
    check(not outside, f"the page asked for {outside[:3]}")
    check(any(address.startswith("blob:") for address in browser.requests), "the worker was not watched")
    refused = browser.run("fetch('https://example.org/').then(() => 'sent', (error) => String(error))")
    check(refused != "sent", "the page may send requests")
    refused = browser.run("""new Promise((done) => {
        const worker = new Worker(URL.createObjectURL(new Blob(["fetch('https://example.org/').then(() => postMessage('sent'), (error) => postMessage(String(error)))"])));
        worker.onmessage = ({data}) => done(data);
    })""")
    check(refused != "sent", "a worker of the page may send requests")
    browser.run("problems.length = 0")


def check_files(browser, root):
    show(browser, "#data")
    traces = root / "tests" / "programs"
    text = drop(browser, "trace.json.gz", (traces / "traces" / "trace_llama_prefill.json.gz").read_bytes())
    check("ridge" in text and "kernels" in text, f"a trace is not read: {text[:300]}")
    text = drop(browser, "ncu.csv", (traces / "data" / "ncu_torch.csv").read_bytes())
    check("ridge" in text and "could not" not in text, f"a report of Nsight Compute is not read: {text[:300]}")
    records = next((root / "records" / "h100-sxm-calls-judge").glob("*.jsonl*"))
    text = drop(browser, records.name, records.read_bytes())
    check("of 35 rows" in text, f"records are not judged: {text[:300]}")
    text = press_tab(browser, "How far ridge is off")
    check("median" in text, f"records are not compared with predictions: {text[:300]}")
    check(until(browser, "document.querySelectorAll('.own figure svg .point').length > 20"), "the chart of measured against predicted is not drawn")
    text = drop(browser, "report.sqlite", (traces / "data" / "nsys_report.sqlite").read_bytes())
    check("SQLite" in text and "ridge trace report.sqlite" in text, f"a database is not refused with the command that reads it: {text[:300]}")
    text = drop(browser, "run.ncu-rep", b"NVR\0\1\2")
    check("ncu --import run.ncu-rep --csv --page raw > run.csv" in text, f"a report of Nsight Compute is not refused with what to do: {text[:300]}")
    text = drop(browser, "run.nsys-rep", b"\0\1\2")
    check("nsys export --type sqlite run.nsys-rep" in text, f"a report of Nsight Systems is not refused with what to do: {text[:300]}")
    text = drop(browser, "config.json", (root / "tests" / "fuzz" / "corpus" / "config" / "gpt2.json").read_bytes())
    check("Verdict" in text and "tokens/s" in text, f"a model's config is not planned: {text[:300]}")
    text = drop(browser, "row_sums.sass", (root / "tests" / "kernel" / "data" / "row_sums.sass").read_bytes())
    check("instructions" in text, f"the code of a kernel is not read: {text[:300]}")
    text = drop(browser, "row_sums.cubin", (root / "tests" / "kernel" / "data" / "row_sums.cubin").read_bytes())
    check("nvdisasm -hex row_sums.cubin" in text, f"a binary is not refused with what to do: {text[:300]}")
    text = drop(browser, "shapes.csv", b"op,m,n,k\nmatmul,4096,4096,4096\nmatmul,1024,1024,1024\n")
    check("4096" in text, f"a table of shapes is not read: {text[:300]}")
    text = drop(browser, "broken.json", b"{\"traceEvents\": [")
    check("broken.json" in text, f"a broken file is not named: {text[:300]}")


def overflow(browser):
    return browser.run("""[...document.querySelectorAll('main *, header *')].filter((n) => {
        const b = n.getBoundingClientRect();
        return b.width && b.right > innerWidth + 1 && !n.closest('pre, code, svg, .table, .texts');
    }).map((n) => n.tagName + '.' + n.className + ' ' + n.textContent.slice(0, 30)).slice(0, 5)""")


def check_every_question(browser):
    """Every question of every view has an answer at once, with nothing but the sizes that it starts with."""
    questions = {"memory": ("what", ("attention", "model")), "model": ("show", ("step", "serving", "load", "plan")), "compare": ("what", ("operation", "model", "years"))}
    for view, (name, values) in questions.items():
        for value in values:
            show(browser, f"#{view}?{name}={value}")
            browser.run("(async () => { for (let i = 0; i < 200 && (i < 5 || document.querySelector('.stale, .waiting')); ++i) await new Promise((done) => setTimeout(done, 50)); })()")
            found = browser.run("[document.querySelector('.answer .problem')?.textContent, document.querySelectorAll('.answer figure svg, .answer .bars, .answer table').length]")
            check(not found[0] and found[1], f"{view}, {value}: {found[0] or 'nothing is drawn'}")


def check_looks(browser, page, folder, axe):
    for width in (420, 1280, 1920):
        for dark in (False, True):
            browser.open(page, width, dark)
            browser.run(READY)
            if axe:
                browser.run(axe.read_text(encoding="utf-8") + "; 1")
            for view in VIEWS:
                show(browser, "#" + view)
                settle(browser, 500)
                wide = overflow(browser)
                check(not wide, f"{view} at {width}: leaves the window: {wide}")
                if folder:
                    browser.screenshot(folder / f"{view}-{width}-{'dark' if dark else 'light'}.png")
                if axe:
                    found = browser.run("axe.run(document).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.html.slice(0, 120)).join(' | ')))")
                    check(not found, f"{view} at {width}, {'dark' if dark else 'light'}: {found}")
            explorer_lessons.check_looks(browser, folder, axe, width, dark)
            check(browser.run("performance.getEntriesByType('resource').filter((each) => !/^(blob|data):/.test(each.name)).length") == 0, "the page fetched something")
            check(browser.run("problems") == [], f"errors of the page: {browser.run('problems')}")


def main():
    page, ridge, root = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
    folder = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 and sys.argv[4] else None
    axe = pathlib.Path(sys.argv[5]) if len(sys.argv) > 5 else None
    program = chromium.program()
    if program is None:
        return 0
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with chromium.opened(program) as (browser, _):
        browser.watch_network()
        check_start(browser, page)
        check_answers(browser, str(ridge))
        explorer_controls.check_controls(browser, str(ridge))
        explorer_controls.check_slow_views(browser, str(ridge))
        check_every_question(browser)
        check_address(browser, page)
        explorer_lessons.check_lessons(browser)
        check_files(browser, root)
        check_heavy(browser, root)
        check_keyboard(browser)
        check_network(browser)
        check(browser.run("problems") == [], f"errors of the page: {browser.run('problems')}")
        check_looks(browser, page, folder, axe)
    return chromium.summary()


if __name__ == "__main__":
    sys.exit(main())
