"""A suite of 250 cases in which everything happens that a page must bear."""

import json
from pathlib import Path

CASES, SEEDS, VARIANTS = 250, 20, ("plain", "careful")

# What a page must show and never obey.
HOSTILE = "</script><img src=x onerror=\"window.hacked=1\"><!-- <script>window.hacked=1</script>"
BIDI = "price \u202e00.1\u202c\u200b end\x1b[2J\u2028"
TAG = "odd <b>tag</b>"
CHECK = "</script>says & so"
# More than a page takes of one text.
LONG = " and more" * 6_000

# Many variants, named like each other, of one case.
WIDE_CASE, WIDE_SEEDS = "a.case.with.dots", 3
WIDE = [f"v{a}{mark}{b}" for a in ("", "1", "1.1") for mark in "-._" for b in range(12)]


def reply(content=None, calls=(), cost=0.0):
    """A provider's reply with its own price."""
    message = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{i}", "type": "function",
             "function": {"name": name, "arguments": json.dumps(args)}}
            for i, (name, args) in enumerate(calls)
        ]
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "cost": cost}
    finish = "tool_calls" if calls else "stop"
    return {"raw": {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}}


def often(share, first, second):
    """`first` in `share` of 10 draws, else `second`."""
    return {"any_of": [{**first, "weight": share}, {**second, "weight": 10 - share}]}


def total(i, share):
    right = reply("It is 12.", cost=0.0004 + i * 2e-5)
    call = [("calculator", {"expression": "3 * 4"})]
    return [reply("I multiply.", call, cost=0.001), often(share, right, reply("It is 13.", cost=0.004))]


def read(i, share):
    call = [("file_read", {"path": "long.txt"})]
    return [reply("I read it.", call), often(share, reply("It says 12."), reply("It says nothing."))]


def loop(i, share):
    call = [("calculator", {"expression": "1 + 1"})]
    return [reply("Once more.", call, cost=0.0005)]


def hostile(i, share):
    odd = [("calculator", {"expression": "6 + 6", HOSTILE: BIDI, "code": f"a = 1\n{HOSTILE}\n"}),
           (HOSTILE, {"x": BIDI})]
    return [reply(f"{HOSTILE} {BIDI}", odd), often(share, reply(f"12 {HOSTILE} {BIDI}"), reply(HOSTILE))]


def broken(i, share):
    return [reply("")] * 3 if i % 2 else [reply(None, [("calculater", {"expression": "1"})]), reply("12")]


KINDS = (total, read, loop, hostile, broken)


def write(folder: Path):
    """Cases, scripts, sealed halves and config."""
    cases, sealed, scripts = [], [], {name: [] for name in VARIANTS}
    for i in range(CASES):
        kind = KINDS[i % len(KINDS)]
        name = f"{kind.__name__}-{i:03}"
        task = f"Say the number of case {i}.\nIt is not {HOSTILE if kind is hostile else 'hard'}."
        if i == 0:
            task += LONG
        case = {"id": name, "task": task, "tags": [kind.__name__] + ([TAG] if kind is hostile else [])}
        cases.append(case | ({"files": "files"} if kind is read else {}))
        checks = [{"kind": "answer_number", "equals": 12}, {"kind": "status", "is": "completed"}]
        if kind is hostile:
            checks.append({"kind": "answer_contains", "text": "12", "name": CHECK})
        sealed.append({"id": name, "checks": checks})
        for share, variant in zip((6, 9), VARIANTS):
            scripts[variant].append({"case": name, "script": kind(i, share)})
    (folder / "files").mkdir()
    # Its fields hold the page's own markup, many times.
    (folder / "files/long.txt").write_text(f"line of text {HOSTILE}\n" * 300)
    lines = {"cases": cases, "sealed": sealed} | scripts
    for name, values in lines.items():
        text = "".join(json.dumps(value) + "\n" for value in values)
        (folder / f"{name}.jsonl").write_text(text)
    (folder / "prompt.md").write_text("Say the number.\n")
    models = "".join(
        f'[models.{name}]\nkind = "scripted"\nscripts = "{name}.jsonl"\n' for name in VARIANTS)
    session = '[session]\nprompt = "prompt.md"\ntools = ["calculator", "file_read"]\n'
    (folder / "farm.toml").write_text(session + models)


def write_wide(folder: Path):
    """The suite of many variants."""
    folder.mkdir()
    case = {"id": WIDE_CASE, "task": "Say the number."}
    sealed = {"id": WIDE_CASE, "checks": [{"kind": "answer_number", "equals": 12}]}
    script = {"case": WIDE_CASE, "script": total(0, 6)}
    for name, value in {"cases": case, "sealed": sealed, "script": script}.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(value) + "\n")
    (folder / "prompt.md").write_text("Say the number.\n")
    models = "".join(
        f'[models."{name}"]\nkind = "scripted"\nscripts = "script.jsonl"\n' for name in WIDE)
    (folder / "farm.toml").write_text('[session]\nprompt = "prompt.md"\ntools = ["calculator"]\n' + models)
