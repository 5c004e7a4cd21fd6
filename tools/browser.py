#!/usr/bin/env python3
"""Opens a page in headless Chromium: for tests of the HTML report, and to make its pictures.

Usage: tools/browser.py PAGE.html PICTURE.png [--width 1280] [--height 900] [--dark] [--at SECTION] [--whole] [--print]
Speaks the DevTools protocol over a pipe, so nothing but Chromium is needed.
"""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
         "--force-device-scale-factor=1")


MARGIN = 12  # pixels above and below the parts in a picture


def find_chromium() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser with one page. `console` collects errors and warnings, `requests` the addresses that the page requested."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.writing = os.pipe()
        self.reading, from_browser = os.pipe()

        def connect():
            # The protocol uses descriptors 3 and 4; both are first copied to high numbers, so that neither overwrites the other.
            copies = [os.dup(to_browser), os.dup(from_browser)]
            high = [os.dup2(copy, number) for copy, number in zip(copies, (60, 61))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [find_chromium(), *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=connect, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self.waiting = b""
        self.number = 0
        self.console: list[str] = []
        self.requests: list[str] = []
        self.loaded = False
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.writing)
        os.close(self.reading)
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self) -> dict:
        while b"\0" not in self.waiting:
            piece = os.read(self.reading, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.waiting += piece
        text, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(text)

    def note(self, message: dict):
        method, what = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(what["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.console.append(json.dumps(what["args"])[:2000])
        elif method == "Log.entryAdded":
            self.console.append(what["entry"]["text"])

    def call(self, method: str, **parameters) -> dict:
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.writing, json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message.get("result", {})
            self.note(message)

    def resize(self, width: int, height: int):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def show_as(self, *, dark: bool = False, media: str = ""):
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[feature])

    def open(self, page: Path) -> float:
        """Loads the page and returns the seconds until it has drawn its first frame."""
        self.loaded = False
        begin = time.monotonic()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait_for_page()
        return time.monotonic() - begin

    def wait_for_page(self):
        while not self.loaded:
            self.note(self.message())
        # Headless Chromium occasionally stops producing frames, so this waits at most one second for them.
        self.run("new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 1000); })")

    def run(self, script: str):
        """Returns the value of an expression in the page."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"])[:2000])
        return done["result"].get("value")

    def picture(self, *parts: str) -> bytes:
        """Captures the visible part, or the page from the top of the first to the bottom of the last selected element."""
        if not parts:
            return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        top, bottom, width = self.run(f"""(() => {{
            const boxes = {json.dumps(parts)}.map(part => document.querySelector(part).getBoundingClientRect());
            return [Math.min(...boxes.map(box => box.top)) + scrollY, Math.max(...boxes.map(box => box.bottom)) + scrollY,
                    document.documentElement.clientWidth];
          }})()""")
        begin = max(0, top - MARGIN)
        clip = {"x": 0, "y": begin, "width": width, "height": bottom + MARGIN - begin, "scale": 1}
        done = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(done["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--at", help="scroll to the section with this id")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--whole", action="store_true", help="capture the whole height of the page")
    parser.add_argument("--print", action="store_true", dest="paper", help="write a PDF, as when printing")
    arguments = parser.parse_args()
    if not find_chromium():
        sys.exit("browser: there is no Chromium; install the package chromium")
    with Browser() as browser:
        browser.resize(arguments.width, arguments.height)
        browser.show_as(dark=arguments.dark)
        browser.open(arguments.page)
        if arguments.at:
            browser.run(f"document.getElementById({json.dumps(arguments.at)}).scrollIntoView({{ behavior: 'instant' }})")
            time.sleep(0.3)
        if arguments.whole:
            browser.resize(arguments.width, browser.run("document.documentElement.scrollHeight"))
            time.sleep(0.5)
        arguments.picture.write_bytes(browser.pdf() if arguments.paper else browser.picture())
        for line in browser.console:
            print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
