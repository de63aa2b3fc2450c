#!/usr/bin/env python3
"""Opens the page of all effects in headless Chromium.

Usage: drive_report.py RIDGE [FOLDER]

`ridge effect all -o` writes the page; it is opened at 1280 and 480 pixels, in light and dark: every figure
must be drawn, no script may fail, no section may be wider than the page. With FOLDER the screenshots of
each section stay there. Prints "skipped: ..." where there is no browser; exits with 1 and what failed.
"""
import base64
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("drive_page", HERE.parent / "plot" / "drive_page.py")
drive_page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(drive_page)

FIGURES = """(() => {
  const figures = [...document.querySelectorAll('figure')];
  return {figures: figures.length, sections: document.querySelectorAll('section').length,
          links: document.querySelectorAll('nav a').length,
          ready: document.documentElement.classList.contains('ready'),
          empty: figures.filter((each) => !each.querySelector('svg.live .marker, svg.live .line')).length,
          wide: document.documentElement.scrollWidth - document.documentElement.clientWidth};
})()"""


def value_of(browser, expression):
    answer = browser.call("Runtime.evaluate", expression=expression, returnByValue=True)
    return answer["result"].get("value")


def main():
    program = next((found for name in ("chromium", "chromium-browser", "google-chrome")
                    if (found := shutil.which(name))), None)
    if program is None:
        print("skipped: no Chromium")
        return 0
    shots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report" / "index.html"
        subprocess.run([sys.argv[1], "effect", "all", "--gpu", "h200-sxm", "-o", str(page.parent)],
                       check=True, capture_output=True)
        browser = drive_page.Browser(program, str(pathlib.Path(folder) / "profile"))
        try:
            for width, scheme in ((1280, "light"), (480, "light"), (1280, "dark")):
                look(browser, page, width, scheme, shots)
        finally:
            browser.process.kill()
            browser.process.wait()
    print("\n".join(drive_page.FAILURES) or "every figure is drawn")
    return 1 if drive_page.FAILURES else 0


def look(browser, page, width, scheme, shots):
    import time
    where = f"{width} {scheme}"
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1,
                 mobile=False)
    browser.call("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.addScriptToEvaluateOnNewDocument",
                 source="window.failed = []; window.addEventListener('error', (e) => failed.push(e.message));")
    browser.call("Page.navigate", url=page.as_uri())
    for _ in range(200):
        if value_of(browser, "document.documentElement.classList.contains('ready')"):
            break
        time.sleep(0.1)
    time.sleep(0.5)
    found = value_of(browser, FIGURES)
    drive_page.check(found["ready"], f"{where}: the scripts did not finish")
    drive_page.check(found["sections"] == found["links"] >= 21, f"{where}: {found}")
    drive_page.check(found["figures"] >= 50 and found["empty"] == 0, f"{where}: {found}")
    drive_page.check(found["wide"] <= 0, f"{where}: wider than the page by {found['wide']}")
    failed = value_of(browser, "window.failed.join('; ')")
    drive_page.check(not failed, f"{where}: {failed}")
    if shots is None:
        return
    shots.mkdir(parents=True, exist_ok=True)
    height = value_of(browser, "document.documentElement.scrollHeight")
    for section in [""] + value_of(browser, "[...document.querySelectorAll('section')].map((s) => s.id)"):
        box = value_of(browser, f"(() => {{ const b = document.getElementById('{section}')"
                                ".getBoundingClientRect(); return [b.top + scrollY, b.height]; })()"
                       ) if section else [0, min(height, 1400)]
        picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                               clip={"x": 0, "y": box[0], "width": width, "height": box[1], "scale": 1})
        (shots / f"{section or 'top'}-{width}-{scheme}.png").write_bytes(
            base64.b64decode(picture["data"]))


if __name__ == "__main__":
    sys.exit(main())
