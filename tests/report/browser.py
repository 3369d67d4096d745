# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Headless Chromium by its DevTools protocol over a pipe: messages of JSON, each ended by a zero byte, on the descriptors
3 and 4 of the browser. Nothing but Python's own library.

    with Browser(profile_folder) as browser:
        page = browser.open("file:///report.html", width=360, height=740, dark=True)
        page.value("document.title")
        page.problems      # console errors, uncaught exceptions and refused loads so far
        page.close()       # the next page gets its tab: a new one would start a process
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def find():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    def __init__(self, folder, timeout=60):
        self.timeout, self.number, self.buffer, self.events, self.idle = timeout, 0, b"", [], []
        command_read, self.command_write = os.pipe()
        self.answer_read, answer_write = os.pipe()
        # sh puts the pipes where the browser looks for them.
        script = f'exec "$@" 3<&{command_read} 4>&{answer_write}'
        words = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
                 f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", script, "bash", *words], pass_fds=(command_read, answer_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError):
            self.process.kill()
        self.process.wait(self.timeout)
        os.close(self.command_write)
        os.close(self.answer_read)

    def receive(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.answer_read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.answer_read, 1 << 20)
            if not chunk:
                raise EOFError("the browser has ended")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.command_write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.timeout
        while True:
            answer = self.receive(until)
            if "id" not in answer:
                self.events.append(answer)
            elif answer["id"] == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def wait_loaded(self, session, loader):
        until = time.monotonic() + self.timeout
        while not any(e["method"] == "Page.lifecycleEvent" and e.get("sessionId") == session
                      and (e["params"]["loaderId"], e["params"]["name"]) == (loader, "load") for e in self.events):
            self.events.append(self.receive(until))

    def open(self, url, **kwargs):
        return Page(self, url, **kwargs)

    def tab(self):
        if self.idle:
            return self.idle.pop()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        self.call("Page.setLifecycleEventsEnabled", session, enabled=True)
        return session


class Page:
    def __init__(self, browser, url, width=1280, height=900, dark=False):
        self.browser, self.session = browser, browser.tab()
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", media="",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.bringToFront")      # a page behind another does not draw
        self.first = len(browser.events)    # what came before is another page's
        browser.wait_loaded(self.session, self.call("Page.navigate", url=url)["loaderId"])
        self.settle()

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def close(self):
        self.browser.idle.append(self.session)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def settle(self):
        """Until the page has been laid out and has drawn for its width."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)

    @property
    def events(self):
        return [e for e in self.browser.events[self.first:] if e.get("sessionId") == self.session]

    @property
    def problems(self):
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    @property
    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def screenshot(self, file, whole=True):
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
            data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        else:
            data = self.call("Page.captureScreenshot", format="png")["data"]
        file.write_bytes(base64.b64decode(data))

    def pdf(self, file):
        data = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=False)["data"]
        file.write_bytes(base64.b64decode(data))
