#!/usr/bin/env python3
"""Drives chart pages in headless Chromium with real mouse, wheel, touch and keyboard events.
Usage: drive_page.py RIDGE_PLOT_SAMPLES [FOLDER]
The program RIDGE_PLOT_SAMPLES writes the sample pages. Each is opened at 500, 800 and 1600 pixels, in light
and dark, then hovered, zoomed, moved, switched by its legend and sorted. With FOLDER, the screenshots are
kept there. Prints "skipped: ..." if there is no browser; exits with 1 and the list of failures otherwise.
"""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import browser as chromium

check = chromium.check


CENTRE = "((n) => { const b = n.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })"


def place_of(browser, selector):
    """Scrolls the first matching element into view and returns its middle."""
    return browser.run(f"((n) => {{ n.scrollIntoView({{block: 'center'}}); return {CENTRE}(n); }})"
                       f"(document.querySelector({json.dumps(selector)}))")


def overflow(browser):
    """Returns the elements whose text leaves the window, and the words that a table breaks."""
    return browser.run("""(() => {
        const out = [];
        if (document.documentElement.scrollWidth > innerWidth) out.push('page ' + document.documentElement.scrollWidth);
        for (const n of document.querySelectorAll('h2, p, .entry, td, th, .toolbar, svg.live')) {
            const b = n.getBoundingClientRect();
            if (b.width && (b.right > innerWidth + 1 || b.left < -1)) out.push(n.tagName + ' ' + n.textContent.slice(0, 40));
        }
        // A word is broken where its letters stand on several lines.
        const range = document.createRange();
        for (const n of document.querySelectorAll('td, th button, .entry span, h2')) {
            const text = n.firstChild;
            if (!text || text.nodeType !== Node.TEXT_NODE) continue;
            for (const word of text.data.matchAll(/\\S+/g)) {
                if (word[0].length > 60) continue;
                range.setStart(text, word.index);
                range.setEnd(text, word.index + word[0].length);
                const tops = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
                if (tops.size > 1 && !/[-\\/–]/.test(word[0])) out.push('broken ' + word[0]);
            }
        }
        return out;
    })()""")


def small_text(browser):
    return browser.run("""[...document.querySelectorAll('svg.live text, td, th, .entry, p, button')]
        .filter((n) => n.getClientRects().length && parseFloat(getComputedStyle(n).fontSize) < 11)
        .map((n) => n.textContent.slice(0, 30))""")


def covered_by_tip(browser):
    """Counts the marks under the tooltip, except the two that are lit."""
    return browser.run("""(() => {
        const tip = document.querySelector('.tip:not([hidden])').getBoundingClientRect();
        return [...document.querySelectorAll('figure:first-of-type .point:not(.lit) .marker')].filter((n) => {
            const b = n.getBoundingClientRect();
            return b.right > tip.left && b.left < tip.right && b.bottom > tip.top && b.top < tip.bottom;
        }).length;
    })()""")


def check_page(browser, name):
    check(browser.run("problems") == [], f"{name}: {browser.run('problems')}")
    check(browser.run("document.documentElement.classList.contains('ready')"), f"{name}: scripts have not run")
    drawn = browser.run("document.querySelectorAll('svg.live .point').length")
    told = browser.run("JSON.parse(document.getElementById('data').textContent).charts.flatMap((c) => c.marks).length")
    check(drawn == told, f"{name}: {drawn} of {told} points drawn")
    check(overflow(browser) == [], f"{name}: {overflow(browser)[:5]}")
    check(small_text(browser) == [], f"{name}: text under 11 px: {small_text(browser)[:5]}")
    check("" not in browser.run("[...document.querySelectorAll('h2, .subtitle')].map((n) => n.textContent)"),
          f"{name}: no title or subtitle")
    check(browser.run("document.querySelectorAll('figure:first-of-type .entry').length") > 0, f"{name}: no legend")


def check_hover(browser, name):
    """Points at every tenth point with the real pointer: the tooltip names it and covers no neighbour."""
    browser.run("document.querySelector('figure').scrollIntoView()")
    points = browser.run(f"""[...document.querySelectorAll('figure:first-of-type .point .marker')]
        .filter((_, i) => i % 10 === 0).slice(0, 12).map({CENTRE})""")
    for at in points:
        browser.mouse("mouseMoved", at)
        shown = browser.run("(document.querySelector('.tip:not([hidden]) strong') || {}).textContent")
        check(shown, f"{name}: no tooltip at {at}")
        if shown:
            check(covered_by_tip(browser) == 0, f"{name}: the tooltip of {shown} covers other points")
    terms = browser.run("[...document.querySelectorAll('.tip dt')].map((n) => n.textContent)")
    check(len(terms) >= 2, f"{name}: a tooltip without terms")
    browser.mouse("mouseMoved", [2, 2])
    check(browser.run("document.querySelector('.tip').hidden"), f"{name}: the tooltip stays")


def visible(browser):
    return browser.run("document.querySelectorAll('figure:first-of-type svg.live .point').length")


def ticks(browser):
    return browser.run("[...document.querySelectorAll('figure:first-of-type .font-tick')].map((n) => n.textContent).join()")


def check_zoom(browser, name):
    before, marks = ticks(browser), visible(browser)
    middle = place_of(browser, "svg.live")
    browser.mouse("mouseWheel", middle, deltaX=0, deltaY=-240, modifiers=2)
    check(ticks(browser) != before, f"{name}: Ctrl and the wheel do not zoom")
    zoomed = ticks(browser)
    browser.drag(middle, [middle[0] + 90, middle[1] + 60])
    check(ticks(browser) != zoomed, f"{name}: dragging does not move")
    browser.click(place_of(browser, ".toolbar button:last-child"))
    check(ticks(browser) == before and visible(browser) == marks, f"{name}: reset does not show everything")
    browser.click(place_of(browser, ".toolbar button"))
    check(ticks(browser) != before, f"{name}: the button does not zoom")
    middle = place_of(browser, "svg.live")
    for _ in range(2):
        browser.mouse("mousePressed", middle, button="left", clickCount=_ + 1)
        browser.mouse("mouseReleased", middle, button="left", clickCount=_ + 1)
    check(ticks(browser) == before, f"{name}: a double click does not reset")


def check_pinch(browser, name):
    before = ticks(browser)
    at = place_of(browser, "svg.live")
    fingers = lambda apart: [{"x": at[0] - apart, "y": at[1], "id": 0}, {"x": at[0] + apart, "y": at[1], "id": 1}]
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=fingers(30))
    for apart in (45, 60, 80):
        browser.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=fingers(apart))
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    check(ticks(browser) != before, f"{name}: two fingers do not zoom")
    browser.click(place_of(browser, ".toolbar button:last-child"))


def check_toggle(browser, name):
    before = visible(browser)
    entries = browser.run("document.querySelectorAll('figure:first-of-type button.entry').length")
    check(entries > 0, f"{name}: nothing to switch")
    changed = 0
    for i in range(entries):
        selector = f"figure:first-of-type .legend > :nth-child({i + 1} of button.entry)"
        lines = browser.run("document.querySelectorAll('figure:first-of-type .line').length")
        browser.click(place_of(browser, selector))
        now = browser.run("document.querySelectorAll('figure:first-of-type .line').length")
        changed += visible(browser) < before or now < lines
        check(browser.run(f"document.querySelector({json.dumps(selector)}).ariaPressed") == "false",
              f"{name}: entry {i} is not switched off")
        browser.click(place_of(browser, selector))
        check(visible(browser) == before, f"{name}: entry {i} is not switched on again")
    check(changed == entries, f"{name}: {changed} of {entries} entries change the chart")


def check_sort(browser, name):
    """Sorts by each heading, up and down; numbers must sort by size."""
    count = browser.run("document.querySelectorAll('.table:first-of-type th button').length")
    check(count >= 4, f"{name}: {count} headings")
    column = """((c) => [...document.querySelector('table').tBodies[0].rows].map((r) => r.cells[c])
        .map((n) => n.dataset.v === undefined ? n.textContent : Number(n.dataset.v)).filter((v) => v !== ''))"""
    for c in range(count):
        selector = f".table th:nth-child({c + 1}) button"
        browser.click(place_of(browser, selector))
        up = browser.run(f"{column}({c})")
        browser.click(place_of(browser, selector))
        down = browser.run(f"{column}({c})")
        if up and all(isinstance(v, (int, float)) for v in up):
            check(up == sorted(up) and down == sorted(down, reverse=True), f"{name}: column {c} is not sorted")
        else:
            check([up[0], up[-1]] == [down[-1], down[0]], f"{name}: column {c} does not turn round")


def check_paging(browser, name):
    """Checks that a long table shows its first rows, then all. Returns whether there is such a table."""
    if not browser.run("[...document.querySelectorAll('.more')].some((bar) => !bar.hidden)"):
        return False
    bar = "[...document.querySelectorAll('.more')].find((bar) => !bar.hidden || bar.dataset.met)"
    browser.run(f"(() => {{ {bar}.dataset.met = 1; }})()")
    rows = f"[...{bar}.parentElement.querySelectorAll('tbody tr')]"
    shown = f"{rows}.filter((row) => row.offsetHeight > 0).length"
    first = browser.run(shown)
    check(first in (10, 25), f"{name}: {first} rows are shown at first")
    browser.run(f"{bar}.firstChild.click()")
    check(browser.run(shown) > first, f"{name}: no further rows are shown")
    browser.run(f"{bar}.lastChild.click()")
    check(browser.run(f"{shown} === {rows}.length && {bar}.hidden"), f"{name}: not all rows are shown")
    return True


def check_keys(browser, name):
    browser.click(place_of(browser, "svg.live"))
    for key in ("ArrowRight", "ArrowRight"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=key)
    check(not browser.run("document.querySelector('.tip').hidden"), f"{name}: arrow keys show nothing")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    check(browser.run("document.querySelector('.tip').hidden"), f"{name}: Escape does not close")


def drive(browser, pages, shots):
    paged = 0
    for path in pages:
        for width in (500, 800, 1600):
            for dark in (False, True):
                name = f"{path.stem}-{width}{'-dark' if dark else ''}"
                browser.open(path, width, dark)
                check_page(browser, name)
                picture = browser.screenshot(shots / f"{name}.png" if shots else None)
                check(picture[:4] == b"\x89PNG" and len(picture) > 20000, f"{name}: the screenshot is empty")
                background = browser.run("getComputedStyle(document.body).backgroundColor")
                check((background == "rgb(255, 255, 255)") != dark, f"{name}: background {background}")
                if dark:
                    continue
                check_hover(browser, name)
                check_zoom(browser, name)
                check_toggle(browser, name)
                check_sort(browser, name)
                paged += check_paging(browser, name)
                check_keys(browser, name)
        check_pinch(browser, path.stem)
    check(paged > 0, "no page has a table of several parts")


def main():
    samples = sys.argv[1]
    shots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    program = chromium.program()
    if program is None:
        return 0
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    with chromium.opened(program) as (browser, pages):
        subprocess.run([samples, str(pages)], check=True, stdout=subprocess.DEVNULL)
        drive(browser, sorted(pages.glob("*.html")), shots)
    return chromium.summary()


if __name__ == "__main__":
    sys.exit(main())
