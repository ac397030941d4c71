"""A headless Chromium to test pages in, driven over its DevTools protocol through two pipes: no port, no driver."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The protocol speaks on descriptors 3 and 4: wired by way of high ones, since the pipes may have these very numbers.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_browser():
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


class Browser:
    """One page. `problems` collects what the page logs as warning or error, and requests for anything but itself."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_browser, to_us = os.pipe()
        from_us, to_browser = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                   f"--user-data-dir={self.profile.name}", "--disable-dev-shm-usage", "--hide-scrollbars"]  # fmt: skip

        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(from_us), str(to_us), find_browser(), *options],
            pass_fds=(from_us, to_us), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(from_us), os.close(to_us)
        self._out, self._in = os.fdopen(to_browser, "wb"), os.fdopen(from_browser, "rb")
        self._number, self._buffer, self._session = 0, b"", None
        self.problems, self._loaded = [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{part}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        self.call("Browser.close")
        self.process.wait(20)
        self._out.close(), self._in.close()
        self.profile.cleanup()

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _read(self):
        while b"\0" not in self._buffer:
            got = os.read(self._in.fileno(), 1 << 16)
            if not got:
                raise RuntimeError("the browser has gone")
            self._buffer += got
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer = json.loads(message)
        self._note(answer.get("method"), answer.get("params", {}))
        return answer

    def _note(self, method, event):
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(event["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.problems.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not event["request"]["url"].startswith(("file:", "data:")):
            self.problems.append(f"asked for {event['request']['url']}")
        self._loaded = self._loaded or method == "Page.loadEventFired"

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def until(self, script, seconds=10):
        """Wait until a script is true."""
        ends = time.monotonic() + seconds
        while not self.do(script):
            assert time.monotonic() < ends, f"never true: {script}"
            time.sleep(0.05)

    def open(self, path, width=1280, height=900, dark=False, media="", touch=False):
        """Load a page from disk at a size, and wait for it."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self._loaded = False
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while not self._loaded:
            self._read()

    def do(self, script):
        """The value of a script in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"]))
        return found["result"].get("value")

    def press(self, key, code=0):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    def picture(self, path, clip=None, full=False):
        options = {"clip": {**clip, "scale": 1}} if clip else {}
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full or bool(clip), **options)
        Path(path).write_bytes(base64.b64decode(found["data"]))

    def print(self, path):
        found = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        Path(path).write_bytes(base64.b64decode(found["data"]))
