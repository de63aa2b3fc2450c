#!/usr/bin/env python3
"""Drives chart pages in headless Chromium with real mouse, wheel, touch and keyboard events.

Usage: drive_page.py RIDGE_PLOT_SAMPLES [FOLDER]

The program RIDGE_PLOT_SAMPLES writes the sample pages; each is opened at 500, 800 and 1600 pixels, in
light and dark, hovered, zoomed, moved, switched by its legend and sorted. With FOLDER the screenshots
stay there. Chromium is spoken to by its DevTools protocol over a pipe, so nothing beside it is needed.
Prints "skipped: ..." where there is no browser; exits with 1 and the list of what failed.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FAILURES = []


def check(holds, what):
    if not holds:
        FAILURES.append(what)


class Browser:
    """Chromium at the other end of two pipes; messages end with a zero byte."""

    def __init__(self, program, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def connect():
            # Descriptors 3 and 4 are the browser's ends; move them out of each other's way first.
            reading, writing = os.dup(to_read), os.dup(from_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest = b""
        self.number = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.from_read, 1 << 20)
                if not part:
                    raise RuntimeError("the browser has ended")
                self.rest += part
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") != self.number:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)

    def run(self, script):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, path, width, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source="""
            window.problems = [];
            addEventListener('error', (e) => problems.push(String(e.message)));
            document.addEventListener('securitypolicyviolation', (e) => problems.push('policy ' + e.violatedDirective));
        """)
        self.call("Page.navigate", url=path.as_uri())
        self.run("""new Promise((done) => {
            const wait = () => document.readyState === 'complete' && location.protocol === 'file:'
                ? requestAnimationFrame(() => requestAnimationFrame(() => done(1))) : setTimeout(wait, 20);
            wait();
        })""")

    def mouse(self, kind, at, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def click(self, at):
        self.mouse("mouseMoved", at)
        self.mouse("mousePressed", at, button="left", clickCount=1)
        self.mouse("mouseReleased", at, button="left", clickCount=1)

    def drag(self, start, end):
        self.mouse("mouseMoved", start)
        self.mouse("mousePressed", start, button="left", clickCount=1)
        for share in (0.3, 0.6, 1.0):
            at = [a + share * (b - a) for a, b in zip(start, end)]
            self.mouse("mouseMoved", at, button="left", buttons=1)
        self.mouse("mouseReleased", end, button="left", clickCount=1)

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 2400), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        data = base64.b64decode(shot["data"])
        if path:
            path.write_bytes(data)
        return data


CENTRE = "((n) => { const b = n.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })"


def place_of(browser, selector):
    """The middle of the first such element, scrolled into view."""
    return browser.run(f"((n) => {{ n.scrollIntoView({{block: 'center'}}); return {CENTRE}(n); }})"
                       f"(document.querySelector({json.dumps(selector)}))")


def overflow(browser):
    """Elements with text that leave the window, and words broken by the table."""
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
    """Marks other than the two lit ones under the tooltip."""
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
    """Every tenth point, by the real pointer: the tooltip names it and covers no neighbour."""
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
    """By each heading, up and down; numbers by their size."""
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
    """A long table shows its first rows, then all; returns whether there is one."""
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
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("skipped: no chromium, chromium-browser or google-chrome on PATH")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pages = pathlib.Path(folder) / "pages"
        pages.mkdir()
        subprocess.run([samples, str(pages)], check=True, stdout=subprocess.DEVNULL)
        if shots:
            shots.mkdir(parents=True, exist_ok=True)
        browser = Browser(program, pathlib.Path(folder) / "profile")
        try:
            drive(browser, sorted(pages.glob("*.html")), shots)
        finally:
            browser.close()
    for failure in FAILURES:
        print("FAILED:", failure)
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
