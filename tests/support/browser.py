# SPDX-License-Identifier: Apache-2.0
"""A real Chromium through WebDriver, with the standard library alone. Tests of pages skip where Debian's chromium and chromium-driver are not installed."""

import base64
import json
import shutil
import subprocess
import time
import unittest
import urllib.error
import urllib.request

# A browser of its own, which asks nobody for anything but the page.
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the standard gives a reference to an element

needs_browser = unittest.skipUnless(DRIVER and BROWSER, "chromium and chromium-driver are not installed")


class Browser:
    """One window. Use it as a context: the browser and its driver end with it."""

    def __init__(self, width=1280, height=900):
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.address = f"http://127.0.0.1:{self._port()}"
            options = {"binary": BROWSER, "args": [*FLAGS, f"--window-size={width},{height}"]}
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options,
                                                                                   "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = f"/session/{made['sessionId']}"
        except BaseException:
            self.driver.kill()
            self.driver.wait()
            self.driver.stdout.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._ask("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()

    def _port(self):
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                return int(line.rsplit(" ", 1)[1].rstrip(".\n"))
        raise RuntimeError("chromedriver ended before it listened")

    def _ask(self, method, path, body=None):
        data = None if method in ("GET", "DELETE") else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode(errors='replace')[:500]}") from error

    def open(self, url):
        self._ask("POST", f"{self.session}/url", {"url": url})

    def run(self, script, *arguments):
        """What `script` returns: the body of a function of `arguments`."""
        return self._ask("POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script, seconds=20):
        """The first true value that `script` returns."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script}")
            time.sleep(0.05)
        return value

    def _find(self, selector):
        return self._ask("POST", f"{self.session}/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._ask("POST", f"{self.session}/element/{self._find(selector)}/click")

    def keys(self, selector, text):
        self._ask("POST", f"{self.session}/element/{self._find(selector)}/value", {"text": text})

    def errors(self):
        """What the console said that is an error or a warning, since it was asked last."""
        log = self._ask("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def device(self, width, height, dark=False):
        """A window of this size in CSS pixels, narrower than a real one can be, and whether its user likes it dark."""
        self._command("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self._command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def spoken(self):
        """What a screen reader has of the page, in its order: (role, name) of each node that it does not leave out."""
        nodes = self._command("Accessibility.getFullAXTree", {})["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def _command(self, name, parameters):
        return self._ask("POST", f"{self.session}/goog/cdp/execute", {"cmd": name, "params": parameters})

    def screenshot(self):
        """A PNG file of the window."""
        return base64.b64decode(self._ask("GET", f"{self.session}/screenshot"))
