#!/usr/bin/env python3
"""Opens the page of `ridge trace FILE -o report.html` in headless Chromium, with real mouse events.
Usage: drive_report.py RIDGE TRACE [FOLDER]
At 500 and 1400 pixels, in light and dark: nothing overflows, the timeline zooms along time and names its
bars, the legend switches them, the tables sort, a row lights its mark, and predicted marks can be told from
measured ones by their fill. The pages of a profiled program with counters, of a model and of a comparison of
models are read at 500, 800 and 1600 pixels. With FOLDER, the screenshots are kept there. Prints
"skipped: ..." if there is no browser; exits with 1 and the list of failures otherwise.
"""

import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "plot"), str(TESTS / "support")]
import browser as chromium
import drive_page as page

check = chromium.check


def bars(browser):
    return browser.run("[...document.querySelectorAll('figure:first-of-type .span')].map((n) => n.getAttribute('d').split('M').length - 1)"
                       ".reduce((a, b) => a + b, 0)")


def check_timeline(browser, name):
    frame = browser.run("(() => { document.querySelector('svg.live').scrollIntoView({block: 'center'});"
                        "const b = document.querySelector('svg.live .frame').getBoundingClientRect();"
                        "return [b.left, b.top, b.right, b.bottom]; })()")
    left, top, right, bottom = frame
    before, lanes = page.ticks(browser), browser.run("document.querySelectorAll('svg.live')[0].textContent.includes('stream')")
    check(lanes, f"{name}: no lane of a stream")
    # Look along the stream's lane for a product that is wide enough to stay under the pointer.
    found = None
    for step in range(60):
        at = [left + (right - left) * (59.5 - step) / 60, top + (bottom - top) * 0.73]
        browser.mouse("mouseMoved", at)
        if browser.run("(document.querySelector('.tip:not([hidden]) .kind') || {textContent: ''}).textContent.includes('products')"):
            found = at
            break
    check(found, f"{name}: no product has a tooltip")
    told = browser.run("[...document.querySelectorAll('.tip dt')].map((n) => n.textContent)")
    check(told[:2] == ["start", "duration"], f"{name}: the tooltip tells {told}")
    few = bars(browser)
    for _ in range(16):
        browser.mouse("mouseWheel", found or [left + 10, top + 10], deltaX=0, deltaY=-240, modifiers=2)
    check(page.ticks(browser) != before, f"{name}: the timeline does not zoom")
    check("stream" in browser.run("document.querySelector('svg.live').textContent"), f"{name}: zooming loses the lanes")
    check(browser.run("document.querySelectorAll('.of-span').length") > 0, f"{name}: no bar is named")
    browser.click(page.place_of(browser, ".toolbar button:last-child"))
    check(bars(browser) == few, f"{name}: reset does not bring all bars back")
    browser.click(page.place_of(browser, "figure:first-of-type button.entry"))
    check(bars(browser) < few, f"{name}: the legend does not switch a series")
    browser.click(page.place_of(browser, "figure:first-of-type button.entry"))


def check_tables(browser, name):
    count = browser.run("document.querySelectorAll('.table').length")
    check(count >= 2, f"{name}: {count} tables")
    order = """[...document.querySelectorAll('.table')].map((t) => t.querySelector('caption').textContent)
        .findIndex((c) => c.startsWith('Where the time goes'))"""
    table = browser.run(order)
    values = f"""[...document.querySelectorAll('.table')[{table}].querySelector('tbody').rows]
        .map((r) => Number(r.cells[2].dataset.v))"""
    check(browser.run(values) == sorted(browser.run(values), reverse=True), f"{name}: not by measured time")
    browser.run(f"document.querySelectorAll('.table')[{table}].querySelectorAll('th button')[2].click()")
    check(browser.run(values) == sorted(browser.run(values)), f"{name}: a heading does not sort")
    lit = browser.run("""(() => {
        const row = document.querySelector('tr[data-i]');
        row.dispatchEvent(new PointerEvent('pointerenter'));
        return document.querySelectorAll('.point.lit').length;
    })()""")
    check(lit == 1, f"{name}: a row lights {lit} marks")
    kinds = browser.run("['.point.measured .marker:not(.hollow)', '.point.predicted .marker.hollow, .point.calibrated .marker.half'].map((s) => document.querySelectorAll(s).length)")
    check(min(kinds) > 5, f"{name}: {kinds} filled marks and predicted ones")
    sizes = browser.run("new Set([...document.querySelectorAll('.point.measured .marker')].map((n) => Math.round(n.getBBox().width))).size")
    check(sizes > 3, f"{name}: marks of {sizes} sizes")


def read(browser, path, name, shots):
    """Checks that the page is whole and fits, and that no heading or legend entry is empty."""
    browser.open(path, int(name.split("-")[1]), "dark" in name)
    check(browser.run("problems") == [], f"{name}: {browser.run('problems')}")
    check(browser.run("document.documentElement.classList.contains('ready')"), f"{name}: scripts have not run")
    check(page.overflow(browser) == [], f"{name}: {page.overflow(browser)[:5]}")
    check(page.small_text(browser) == [], f"{name}: text under 11 px: {page.small_text(browser)[:5]}")
    empty = browser.run("[...document.querySelectorAll('th, .entry, h2, .subtitle')].filter((n) => !n.textContent.trim()).length")
    check(empty == 0, f"{name}: {empty} headings or entries without a word")
    browser.screenshot(shots / f"{name}.png" if shots else None)


def read_others(browser, ridge, trace, folder, shots):
    traces = pathlib.Path(trace).parent
    commands = {
        "profile": ["trace", traces / "kernels_h200.ridge", traces / "kernels_h200.counters.ridge"],
        "model": ["model", "llama-3.1-8b", "--gpu", "h100-sxm"],
        "models": ["compare", "model", "llama-3.1-8b", "--gpu", "a100-sxm-80gb,h100-sxm"],
    }
    for name, command in commands.items():
        path = folder / f"{name}.html"
        subprocess.run([ridge, *map(str, command), "-o", str(path)], check=True, capture_output=True)
        for width, scheme in ((500, "dark"), (800, "light"), (1600, "dark")):
            read(browser, path, f"{name}-{width}-{scheme}", shots)
        if name == "profile":
            counted = browser.run("document.querySelectorAll('.point.measured').length")
            check(counted >= 3, f"{name}: {counted} counted kernels on the roofline")


def drive(browser, path, shots):
    for width in (500, 1400):
        for dark in (False, True):
            name = f"report-{width}{'-dark' if dark else ''}"
            browser.open(path, width, dark)
            check(browser.run("problems") == [], f"{name}: {browser.run('problems')}")
            check(browser.run("document.documentElement.classList.contains('ready')"), f"{name}: scripts have not run")
            check(page.overflow(browser) == [], f"{name}: {page.overflow(browser)[:5]}")
            check(page.small_text(browser) == [], f"{name}: text under 11 px: {page.small_text(browser)[:5]}")
            browser.screenshot(shots / f"{name}.png" if shots else None)
            background = browser.run("getComputedStyle(document.body).backgroundColor")
            check((background == "rgb(255, 255, 255)") != dark, f"{name}: background {background}")
            check_timeline(browser, name)
            check_tables(browser, name)


def main():
    ridge, trace = sys.argv[1:3]
    shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    program = chromium.program()
    if program is None:
        return 0
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    with chromium.opened(program) as (browser, folder):
        report = folder / "report.html"
        subprocess.run([ridge, "trace", trace, "-o", str(report)], check=True, stderr=subprocess.DEVNULL)
        drive(browser, report, shots)
        read_others(browser, ridge, trace, folder, shots)
    return chromium.summary()


if __name__ == "__main__":
    sys.exit(main())
