"""Chromium by the WebDriver protocol, with nothing but the standard library."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1280,1000",
]


class Browser:
    """A browser of its own, in an empty profile; it ends with the `with` block."""

    def __init__(self, profile):
        self.profile = profile

    def __enter__(self):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        said = next((m for line in self.driver.stdout
                     if (m := re.search(r"started successfully on port (\d+)", line))), None)
        assert said, "chromedriver did not start"
        self.base = f"http://127.0.0.1:{said[1]}/session"
        chromium = {"binary": shutil.which("chromium"), "args": [*OPTIONS, f"--user-data-dir={self.profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": chromium,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        try:
            made = self.ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.driver.terminate()
            raise
        self.base += "/" + made["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def ask(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise AssertionError(json.load(e)["value"]["message"]) from e

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *args):
        """What `return` yields."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def wait(self, script, *args):
        """Waits until the expression holds."""
        held = "const [done] = [arguments[arguments.length - 1]]; const of = arguments;" \
            f"(function look() {{ if ({script}) done(true); else setTimeout(look, 20); }})()"
        return self.ask("POST", "/execute/async", {"script": held, "args": list(args)})

    def find(self, css):
        found = self.ask("POST", "/element", {"using": "css selector", "value": css})
        return found[ELEMENT]

    def click(self, css):
        self.ask("POST", f"/element/{self.find(css)}/click", {})

    def press(self, css, keys):
        self.ask("POST", f"/element/{self.find(css)}/value", {"text": keys})

    def text(self, css):
        return self.ask("GET", f"/element/{self.find(css)}/text")

    def log(self, kind):
        return self.ask("POST", "/se/log", {"type": kind})
