#!/usr/bin/env python3
"""Opens the page of all effects in headless Chromium.
Usage: drive_report.py RIDGE [FOLDER]
`ridge effect all -o` writes the page. It is opened at 1280 and 480 pixels, in light and dark. Every figure
must be drawn, no script may fail, and nothing may be wider than the page. With FOLDER, screenshots of the
sections are kept there. Prints "skipped: ..." if there is no browser; exits with 1 and the list of failures otherwise.
"""
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import browser as chromium

FIGURES = """(() => {
  const figures = [...document.querySelectorAll('figure')];
  return {figures: figures.length, sections: document.querySelectorAll('section').length,
          links: document.querySelectorAll('nav a').length,
          ready: document.documentElement.classList.contains('ready'),
          empty: figures.filter((each) => !each.querySelector('svg.live .marker, svg.live .line')).length,
          wide: document.documentElement.scrollWidth - document.documentElement.clientWidth};
})()"""


def main():
    program = chromium.program()
    if program is None:
        return 0
    shots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with chromium.opened(program) as (browser, folder):
        page = folder / "report" / "index.html"
        subprocess.run([sys.argv[1], "effect", "all", "--gpu", "h200-sxm", "-o", str(page.parent)],
                       check=True, capture_output=True)
        for width, scheme in ((1280, "light"), (480, "light"), (1280, "dark")):
            look(browser, page, width, scheme, shots)
    return chromium.summary()


def look(browser, page, width, scheme, shots):
    where = f"{width} {scheme}"
    browser.open(page, width, dark=scheme == "dark")
    for _ in range(200):
        if browser.run("document.documentElement.classList.contains('ready')"):
            break
        time.sleep(0.1)
    time.sleep(0.5)
    found = browser.run(FIGURES)
    chromium.check(found["ready"], f"{where}: the scripts did not finish")
    chromium.check(found["sections"] == found["links"] >= 21, f"{where}: {found}")
    chromium.check(found["figures"] >= 21 and found["empty"] == 0, f"{where}: {found}")
    chromium.check(found["wide"] <= 0, f"{where}: wider than the page by {found['wide']}")
    failed = browser.run("window.problems.join('; ')")
    chromium.check(not failed, f"{where}: {failed}")
    if shots is None:
        return
    shots.mkdir(parents=True, exist_ok=True)
    height = browser.run("document.documentElement.scrollHeight")
    for section in [""] + browser.run("[...document.querySelectorAll('section')].map((s) => s.id)"):
        box = [0, min(height, 1400)]
        if section:
            box = browser.run(f"(() => {{ const b = document.getElementById('{section}')"
                              ".getBoundingClientRect(); return [b.top + scrollY, b.height]; })()")
        browser.screenshot(shots / f"{section or 'top'}-{width}-{scheme}.png",
                           clip={"x": 0, "y": box[0], "width": width, "height": box[1], "scale": 1})


if __name__ == "__main__":
    sys.exit(main())
