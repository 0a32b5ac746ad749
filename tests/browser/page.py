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


def make(farm, folder, seeds):
    """Runs a suite; the page of it."""
    run = [farm, "run", "cases.jsonl", "--config", "farm.toml", "--sealed", "sealed.jsonl",
           "--seeds", str(seeds), "--out", "run", "--quiet"]
    subprocess.run(run, cwd=folder, check=True)
    return report(farm, folder)


def report(farm, folder):
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


def means(browser):
    """Mean steps with the sessions that they rest on."""
    return [text.split(" ") for text in column(browser, CASES, "steps")]


def sorting(browser):
    sort(browser, CASES, "steps")
    steps = [float(mean) for mean, _ in means(browser) if mean != "–"]
    assert len(steps) > 10 and steps == sorted(steps), steps
    sort(browser, CASES, "steps")
    steps = [float(mean) for mean, _ in means(browser) if mean != "–"]
    assert len(steps) > 10 and steps == sorted(steps, reverse=True), steps
    rest = {rest for _, rest in means(browser)}
    assert all(re.fullmatch(rf"\d+/{suite.SEEDS}", of) for of in rest), rest


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
    browser.ask("POST", "/back", {})
    browser.wait("!document.querySelector(of[0])", VIEW)
    browser.click(f"{LIST} tbody a")
    browser.wait("document.querySelector(of[0])", VIEW)
    leave(browser)
    assert browser.run("return location.hash") == "#sessions"

    key = next(line["key"] for line in scores if line["state"] == "failed" and "/read-" in line["key"])
    browser.run("location.hash = arguments[0]", key)
    browser.wait("document.querySelector(of[0])?.textContent === of[1]", f"{VIEW} h2", key)
    long = f"{VIEW} .step:first-child .observation"
    assert browser.text(f"{long} .label") == "result"
    browser.click(f"{long} button")
    assert browser.run("return document.querySelector(arguments[0]).textContent.split('\\n').length",
                       f"{long} .said") > 250


def elsewhere(browser, scores):
    """What is not in the page is said with the command that shows it."""
    key = next(line["key"] for line in scores if line["state"] == "failed" and "/total-000/" in line["key"])
    says(browser, key, f"farm trace show {key} --run run --full", ".task")
    # Failed sessions come first, and not all of them fit.
    key = next(line["key"] for line in reversed(scores) if line["state"] == "passed")
    says(browser, key, f"not in this page: farm trace show {key} --run run shows it")
    says(browser, "plain/total-000/20", "no such session; its seeds are 0 to 19")
    leave(browser)


def says(browser, key, what, where=""):
    """Goes to the address of a session; what is said there."""
    browser.run("location.hash = arguments[0]", key)
    browser.wait("document.querySelector(of[0])?.textContent === of[1]", f"{VIEW} h2", key)
    said = browser.text(f"{VIEW} {where} .note")
    assert what in said, said


def leave(browser):
    browser.press(f"{VIEW} .view", "\ue00c")  # escape
    browser.wait("!document.querySelector(of[0])", VIEW)


def wide(browser, page):
    """Many variants, named like each other: a row leads to its own sessions alone."""
    show(browser, page)
    assert matching(browser) == len(suite.WIDE) * suite.WIDE_SEEDS
    variant = column(browser, CASES, "variant")[0]
    browser.click(f"{CASES} tbody a")
    want = [f"{variant}/{suite.WIDE_CASE}/{seed}" for seed in range(suite.WIDE_SEEDS)]
    assert column(browser, LIST, "session") == want, column(browser, LIST, "session")
    browser.click(f"{LIST} tbody a")
    browser.wait("document.querySelector(of[0])?.textContent === of[1]", f"{VIEW} h2", want[0])
    assert browser.run("return document.querySelectorAll('figure').length") == 2
    quiet(browser, page)


def published(browser, page):
    """Without the database there are no sessions, and their addresses say how they are seen."""
    show(browser, page)
    key = f"{suite.WIDE[0]}/{suite.WIDE_CASE}/0"
    says(browser, key, f"farm trace show {key} --run run shows it")
    says(browser, f"{suite.WIDE[0]}/$(other)/0", "no such variant or case")
    quiet(browser, page)


def show(browser, page):
    """Opens a page; the seconds that it took."""
    browser.open("about:blank")
    browser.log("performance")  # what was asked for before
    began = time.monotonic()
    browser.open(page.as_uri())
    browser.wait("'ready' in document.documentElement.dataset")
    return time.monotonic() - began


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
        farm = str(Path(farm).resolve())
        suite.write(folder)
        page = make(farm, folder, suite.SEEDS)
        scores = [json.loads(line) for line in (folder / "run/scores.jsonl").open()]
        assert len(scores) == SESSIONS, len(scores)
        size = page.stat().st_size
        assert size < 20_000_000, f"{size} bytes"
        with Browser(folder / "profile") as browser:
            took = show(browser, page)
            assert matching(browser) == SESSIONS, matching(browser)
            sorting(browser)
            filtering(browser, scores)
            reading(browser, scores)
            elsewhere(browser, scores)
            browser.open("about:blank")
            browser.open(page.as_uri() + "#careful/loop-002/0")
            browser.wait("document.querySelector(of[0])?.textContent === of[1]", f"{VIEW} h2",
                         "careful/loop-002/0")
            assert len(browser.run("return [...document.querySelectorAll('.step')].map(String)")) == 8
            assert browser.text(f"{VIEW} .end").endswith("budget_exhausted (steps)")
            quiet(browser, page)
            other = folder / "wide"
            suite.write_wide(other)
            wide(browser, make(farm, other, suite.WIDE_SEEDS))
            (other / "run/farm.db").unlink()
            published(browser, report(farm, other))
    print(f"page of {SESSIONS:,} sessions: {size / 1e6:.1f} MB, opens in {took:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1])
