"""Opens the page of a run of 10,000 sessions and uses it as a person would."""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import suite
from driver import Browser

SESSIONS = suite.CASES * suite.SEEDS * len(suite.VARIANTS)
CASES, LIST, VIEW = "#case-table", "#session-table", "#session[open]"


def make(farm, folder):
    """Runs the suite; the page of it."""
    suite.write(folder)
    run = [farm, "run", "cases.jsonl", "--config", "farm.toml", "--sealed", "sealed.jsonl",
           "--seeds", str(suite.SEEDS), "--out", "run", "--quiet"]
    subprocess.run(run, cwd=folder, check=True)
    page = folder / "page.html"
    with page.open("wb") as out:
        subprocess.run([farm, "report", "run", "--format", "html"], cwd=folder, check=True, stdout=out)
    return page


def choose(browser, table, label, value):
    """Sets one filter of a table."""
    browser.run(
        """const label = [...document.querySelectorAll(`${arguments[0]} label`)]
             .find((label) => label.firstChild.data === arguments[1]);
           const select = label.querySelector("select");
           if (![...select.options].some((option) => option.value === arguments[2])) throw arguments[2];
           select.value = arguments[2];
           select.dispatchEvent(new Event("change"));""",
        table, label, value)


def column(browser, table, head):
    """The texts of a column, as far as the table shows it."""
    return browser.run(
        """const table = document.querySelector(arguments[0]);
           const at = [...table.querySelectorAll("thead th")]
             .findIndex((th) => th.textContent === arguments[1]);
           return [...table.querySelectorAll("tbody tr")].map((tr) => tr.cells[at].textContent);""",
        table, head)


def sort(browser, table, head):
    browser.run(
        """[...document.querySelectorAll(`${arguments[0]} thead button`)]
             .find((button) => button.textContent === arguments[1]).click();""",
        table, head)


def matching(browser):
    """How many sessions the filters leave."""
    said = re.sub(r"^[\d,]+–[\d,]+ of ", "", browser.text(f"{LIST} .count"))
    return int(said.split()[0].replace(",", ""))


def sorting(browser):
    sort(browser, CASES, "steps")
    steps = [float(text) for text in column(browser, CASES, "steps") if text != "–"]
    assert len(steps) > 10 and steps == sorted(steps), steps
    sort(browser, CASES, "steps")
    steps = [float(text) for text in column(browser, CASES, "steps") if text != "–"]
    assert len(steps) > 10 and steps == sorted(steps, reverse=True), steps


def filtering(browser, scores):
    """Each filter leaves the sessions that scores.jsonl says it should."""
    for status in ("completed", "budget_exhausted (steps)", "fallback_stop"):
        choose(browser, LIST, "status", status)
        shown = column(browser, LIST, "status")
        assert shown and set(shown) == {status}, shown
    choose(browser, LIST, "status", "")
    for check in ("status", suite.CHECK):
        choose(browser, LIST, "failing check", check)
        fails = lambda line: any(c["name"] == check and not c["passed"] for c in line["checks"])
        want = sum(fails(line) for line in scores)
        assert want > 0 and matching(browser) == want, (check, matching(browser), want)
        assert all(check in text for text in column(browser, LIST, "failed checks"))
    choose(browser, LIST, "failing check", "")
    choose(browser, LIST, "tag", suite.TAG)
    assert matching(browser) == SESSIONS // 5
    choose(browser, LIST, "state", "failed")
    failed = [line for line in scores if line["state"] == "failed"]
    assert matching(browser) == sum("/hostile-" in line["key"] for line in failed)
    browser.press(f"{LIST} input", "careful/hostile-003/")
    keys = column(browser, LIST, "session")
    assert keys and all(key.startswith("careful/hostile-003/") for key in keys), keys


def reading(browser, scores):
    """A session opened from the list; its neighbour by a key; another by its address."""
    first = column(browser, LIST, "session")[0]
    browser.click(f"{LIST} tbody a")
    browser.wait("document.querySelector(of[0])", VIEW)
    assert browser.text(f"{VIEW} h2") == first
    said = lambda css: browser.text(f"{VIEW} .step:first-child {css}")
    assert suite.HOSTILE in said(".thought .said"), said(".thought .said")
    assert "\\u{202e}00.1" in said(".thought .said"), said(".thought .said")
    assert said(".tool") == "calculator" and "6 + 6" in said(".call"), said(".call")
    assert "schema" in said(".judgments tr") and "✗" in said(".judgments tr"), said(".judgments tr")
    assert said(".observation .label") == "blocked" and said(".observation .said")
    assert suite.HOSTILE in browser.text(f"{VIEW} .answer .said")
    assert suite.HOSTILE in browser.text(f"{VIEW} .task .said")
    assert "failed" in browser.text(f"{VIEW} .standing")

    browser.press(f"{VIEW} .view", "\ue014")  # right arrow
    browser.wait("document.querySelector(of[0]).textContent === of[1]", f"{VIEW} h2",
                 column(browser, LIST, "session")[1])
    browser.press(f"{VIEW} .view", "\ue00c")  # escape
    browser.wait("!document.querySelector(of[0])", VIEW)

    key = next(line["key"] for line in scores if line["state"] == "failed" and "/read-" in line["key"])
    browser.run("location.hash = arguments[0]", key)
    browser.wait("document.querySelector(of[0])?.textContent === of[1]", f"{VIEW} h2", key)
    long = f"{VIEW} .step:first-child .observation"
    assert browser.text(f"{long} .label") == "result"
    browser.click(f"{long} button")
    assert browser.run("return document.querySelector(arguments[0]).textContent.split('\\n').length",
                       f"{long} .said") > 250


def quiet(browser, page):
    """Nothing went wrong, nothing was obeyed, nothing was asked of the network."""
    assert browser.run("return window.hacked ?? null") is None
    assert browser.run("return document.querySelectorAll('img:not(.forest img), main script, dialog script').length") == 0
    problems = [entry for entry in browser.log("browser") if entry["level"] in ("WARNING", "SEVERE")]
    assert not problems, problems
    events = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    asked = [event["params"]["request"]["url"] for event in events
             if event["method"] == "Network.requestWillBeSent"]
    elsewhere = [url for url in asked if not url.startswith(("data:", page.as_uri()))]
    assert not elsewhere and page.as_uri() in asked, elsewhere


def main(farm):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        page = make(str(Path(farm).resolve()), folder)
        scores = [json.loads(line) for line in (folder / "run/scores.jsonl").open()]
        assert len(scores) == SESSIONS, len(scores)
        size = page.stat().st_size
        assert size < 20_000_000, f"{size} bytes"
        with Browser(folder / "profile") as browser:
            browser.open("about:blank")
            browser.log("performance")  # what the browser's own first page asked for
            began = time.monotonic()
            browser.open(page.as_uri())
            browser.wait("'ready' in document.documentElement.dataset")
            took = time.monotonic() - began
            assert matching(browser) == SESSIONS, matching(browser)
            sorting(browser)
            filtering(browser, scores)
            reading(browser, scores)
            browser.open("about:blank")
            browser.open(page.as_uri() + "#careful/loop-002/0")
            browser.wait("document.querySelector(of[0])?.textContent === of[1]", f"{VIEW} h2",
                         "careful/loop-002/0")
            assert len(browser.run("return [...document.querySelectorAll('.step')].map(String)")) == 8
            assert browser.text(f"{VIEW} .end").endswith("budget_exhausted (steps)")
            quiet(browser, page)
    print(f"page of {SESSIONS:,} sessions: {size / 1e6:.1f} MB, opens in {took:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1])
