"""Headless Chromium for tests, controlled by its DevTools protocol over a pipe. It needs no other package."""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

FAILURES = []


def check(holds, what):
    if not holds:
        FAILURES.append(what)


def summary():
    """Prints the failures and returns the exit status of the test."""
    for failure in FAILURES:
        print("FAILED:", failure)
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


def program():
    """Returns the path of a browser. Without one, prints why CTest skips the test and returns None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        print(f"skipped: no {names[0]}, {names[1]} or {names[2]} on PATH")
    return found


@contextlib.contextmanager
def opened(path):
    """Opens the browser at `path` with an empty folder for pages; both are removed afterwards."""
    # A process of the browser may still write a file while its profile is removed. That is not a failure.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        pages = folder / "pages"
        pages.mkdir()
        browser = Browser(path, folder / "profile")
        try:
            yield browser, pages
        finally:
            browser.close()


class Browser:
    """Chromium at the other end of two pipes. Each message ends with a zero byte."""

    def __init__(self, program, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def connect():
            # The browser expects descriptors 3 and 4. Duplicate both first, so that neither overwrites the other.
            reading, writing = os.dup(to_read), os.dup(from_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connect, close_fds=False, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest = b""
        self.requests = []  # addresses that pages and their workers asked the network for, after `watch_network`
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
                self.note_event(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def send(self, method, session, **parameters):
        """Sends a message without waiting for its answer."""
        message = {"id": 1 << 30, "method": method, "params": parameters, "sessionId": session}
        os.write(self.to_write, json.dumps(message).encode() + b"\0")

    def note_event(self, event):
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        if event.get("method") == "Network.webSocketCreated":
            self.requests.append(event["params"]["url"])
        if event.get("method") == "Target.attachedToTarget":
            for method in ("Network.enable", "Runtime.runIfWaitingForDebugger"):
                self.send(method, event["params"]["sessionId"])

    def watch_network(self):
        """Notes every request of the page and of workers that it starts from now on."""
        self.call("Network.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def press(self, key, code=None, number=0, modifiers=0):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode=number, modifiers=modifiers, **(text if kind == "keyDown" else {}))

    def close(self):
        # The browser's other processes write to the profile too, so end the whole group.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)

    def run(self, script):
        """Returns the value of a JavaScript expression."""
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

    def screenshot(self, path=None, clip=None):
        """Returns a PNG of the area `clip`, or of the first 2400 pixels of the page, and writes it to `path` if given."""
        if clip is None:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 2400), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        data = base64.b64decode(shot["data"])
        if path:
            path.write_bytes(data)
        return data
