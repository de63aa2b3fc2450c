"""Every lesson in the browser: few words, a picture that follows each control at the pace of the screen, clean on every width.

What the sentences claim is judged by check_lessons.js, without a browser and on every chip.
"""

import json
import statistics

import browser as chromium

check = chromium.check
MOST_WORDS = 120
FRAME_MS = 1000 / 60

# Words that stand there before anything is opened: those of the page, of the picture's description none.
WORDS = """(() => {
    const text = [...document.querySelectorAll('.lesson h2, .lesson .guess, .lesson .sentences, .lesson label, .lesson button, .lesson summary')].map((n) => n.textContent).join(' ');
    return text.split(/\\s+/).filter((word) => /[a-z]/i.test(word)).length;
})()"""

# Moves a slider a little with every frame, there and back, while the picture plays. Returns the milliseconds of each drawing and each frame.
MOVE = """(async () => {
    const range = document.querySelectorAll('.lesson-controls input[type=range]')[%d];
    const [low, high] = [Number(range.min), Number(range.max)];
    const frame = () => new Promise(requestAnimationFrame);
    const [draws, frames] = [[], []];
    await frame();
    let last = await frame();
    for (let i = 0; i < 48; ++i) {
        range.value = low + (high - low) * (0.5 + 0.4 * Math.sin((i / 48) * 2 * Math.PI));
        range.dispatchEvent(new Event('input', {bubbles: true}));
        const now = await frame();
        frames.push(now - last);
        draws.push(explorer.lastMs);
        last = now;
    }
    return [draws, frames];
})()"""

# What is drawn and said with the picture at rest.
SEEN = """(() => [...document.querySelectorAll('.lesson canvas')].map((n) => n.hidden ? '' : n.toDataURL()).join() + document.querySelector('.sentences').textContent)()"""
REST = """(() => { const play = [...document.querySelectorAll('.lesson .play')].find((n) => n.textContent.includes('Pause')); play?.click(); })()"""


def show(browser, address):
    browser.run(f"explorer.read({json.dumps(address)}); explorer.show(); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


def names_of(browser):
    show(browser, "#lessons")
    return browser.run("[...document.querySelectorAll('.lesson-list a')].map((n) => new URLSearchParams(n.hash.split('?')[1]).get('lesson'))")


def check_words_and_guess(browser, name):
    show(browser, f"#lessons?lesson={name}")
    if browser.run("document.querySelectorAll('.guess button').length"):
        check(browser.run("document.querySelectorAll('.sentences p').length") == 1, f"{name}: the answer stands there before the guess")
        browser.run("document.querySelectorAll('.guess button')[0].click(); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        check(browser.run("document.querySelector('.reveal')?.textContent.length") > 5, f"{name}: a guess reveals nothing")
    words = browser.run(WORDS)
    check(words <= MOST_WORDS, f"{name}: {words} words on the first screen")
    return words


def check_moves(browser, name):
    """Returns the drawing times and the frames of all sliders."""
    draws, frames = [], []
    for at in range(browser.run("document.querySelectorAll('.lesson-controls input[type=range]').length")):
        browser.run(MOVE % at)  # the first time it asks the model for what a chart needs
        drawn, framed = browser.run(MOVE % at)
        draws += drawn
        frames += framed
        check(statistics.median(drawn) < FRAME_MS, f"{name}: slider {at}: a drawing takes {statistics.median(drawn):.1f} ms")
    return draws, frames


def check_every_control_shows(browser, name):
    """Each slider and each choice changes picture, chart or sentences."""
    for kind in ("input[type=range]", "select"):
        for at in range(browser.run(f"document.querySelectorAll('.lesson-controls {kind}').length")):
            show(browser, f"#lessons?lesson={name}&guess=moved")
            browser.run(REST)
            changed = browser.run(f"""(async () => {{
                const node = document.querySelectorAll('.lesson-controls {kind}')[{at}];
                const seen = () => {SEEN};
                const all = new Set([seen()]);
                const values = node.tagName === 'SELECT' ? [...node.options].map((o) => o.value) : [0, 0.3, 0.7, 1].map((share) => Number(node.min) + share * (node.max - node.min));
                for (const value of values) {{
                    node.value = value;
                    node.dispatchEvent(new Event(node.tagName === 'SELECT' ? 'change' : 'input', {{bubbles: true}}));
                    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                    all.add(seen());
                }}
                return all.size;
            }})()""")
            label = browser.run(f"document.querySelectorAll('.lesson-controls {kind}')[{at}].closest('.control').querySelector('label').textContent")
            # Some belong to one of two pictures.
            check(changed > 1 or "(" in label or name == "triton", f"{name}: {label} changes nothing")


def check_lessons(browser):
    names = names_of(browser)
    check(len(names) >= 35, f"only {len(names)} lessons")
    words, draws, frames = [], [], []
    for name in names:
        words.append(check_words_and_guess(browser, name))
        drawn, framed = check_moves(browser, name)
        draws += drawn
        frames += framed
        check_every_control_shows(browser, name)
        check(browser.run("problems") == [], f"{name}: {browser.run('problems')}")
    print(f"lessons: {len(names)}, {max(words)} words at most; a drawing takes {statistics.median(draws):.1f} ms in the median, "
          f"{statistics.quantiles(draws, n=20)[-1]:.1f} ms in 19 of 20; {1000 / statistics.mean(frames):.0f} frames a second while a slider moves")


def check_looks(browser, folder, axe, width, dark):
    """Every lesson on this width; called with the page open at it."""
    for name in names_of(browser):
        show(browser, f"#lessons?lesson={name}&guess=0")
        wide = browser.run("document.documentElement.scrollWidth > innerWidth + 1")
        check(not wide, f"{name} at {width}: leaves the window")
        if folder:
            browser.screenshot(folder / f"lesson-{name}-{width}-{'dark' if dark else 'light'}.png")
        if axe:
            found = browser.run("axe.run(document).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.html.slice(0, 120)).join(' | ')))")
            check(not found, f"{name} at {width}, {'dark' if dark else 'light'}: {found}")
