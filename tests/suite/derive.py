#!/usr/bin/env python3
"""Derives what the shipped suite must yield, from its three files and the rules of farm alone.

A second, independent reading of the rules: seeds and draws, the ReAct loop, the tools, the checks.
Prints one JSON line per session (case x seed 0..11, run seed 0); a table of passes goes to stderr.
"""

import ast, json, math, operator, posixpath, re, sys
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
SEEDS, MAX_STEPS, FAILED_TURNS = 12, 8, 3
ARGUMENT = {"calculator": "expression", "file_read": "path", "web_fetch": "url"}


# Seeds and draws

def number(*lines):
    return int.from_bytes(sha256("\n".join(map(str, lines)).encode()).digest()[:8], "big")


def rng_seed(run_seed, case, seed):
    return number("farm-seed/1", run_seed, case, seed)


def draw(rng, t, j, total):
    return number("farm-draw/1", rng & 0x7FFFFFFF, t, j) % total


def entry(script, rng, t):
    """The t-th reply of a script, its choices made; the last entry repeats."""
    chosen, j = script[min(t, len(script) - 1)], 0
    while "any_of" in chosen:
        value = draw(rng, t, j, sum(e["weight"] for e in chosen["any_of"]))
        for chosen in chosen["any_of"]:
            value -= chosen["weight"]
            if value < 0:
                break
        j += 1
    return chosen


# Tools: each returns its text or raises ValueError

BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
BITS = 4096


def value_of(node):
    match node:
        case ast.Expression(body=body):
            return value_of(body)
        case ast.Constant(value=int() | float() as value):
            pass
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return value_of(inner)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -value_of(inner)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            left, right = value_of(left), value_of(right)
            if type(op) is ast.Pow and type(left) is type(right) is int and right * (abs(left).bit_length() - 1) >= BITS:
                raise ValueError("too_large")
            value = BINARY[type(op)](left, right)
        case _:
            raise ValueError("syntax")
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("domain or overflow")
    if isinstance(value, int) and value.bit_length() > BITS:
        raise ValueError("too_large")
    return value


def calculator(expression):
    if len(expression) > 4096 or not re.fullmatch(r"[0-9eE_.+\-*/%() \t]+", expression):
        raise ValueError("syntax")
    try:
        return repr(value_of(ast.parse(expression.strip(), mode="eval")))
    except (SyntaxError, ArithmeticError) as error:
        raise ValueError(str(error))


def file_read(folder, path):
    depth = 0
    for part in path.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            break
    if path.startswith("/") or depth < 0 or folder is None:
        raise ValueError("outside of the folder")
    if not (folder / path).is_file():
        raise ValueError("not a regular file")
    return (folder / path).read_bytes().decode()


def web_fetch(url):
    parts = urlsplit(url)
    path = posixpath.normpath("/" + unquote(parts.path)).lstrip("/")
    page = ROOT / "eval/pages" / (parts.hostname or "-") / path
    for page in (page, page / "index.html", page / "index.txt"):
        if page.is_file():
            return "Offline: a canned page.\n" + page.read_text()
    raise ValueError("no canned page")


def run_tool(tool, args, folder):
    """(ok, content) of a call that nothing blocked."""
    try:
        match tool:
            case "calculator":
                return True, calculator(args["expression"])
            case "file_read":
                return True, file_read(folder, args["path"])
            case _:
                return True, web_fetch(args["url"])
    except ValueError as error:
        return False, f"error: {error}"


# Replies: {"answer": text}, {"calls": [(tool, args, why it is blocked or None)]} or {"failed": reason}

def from_raw(body):
    choice = body["choices"][0]
    message, finish = choice["message"], choice["finish_reason"]
    if message.get("tool_calls"):
        return {"calls": [arguments(c["function"], finish) for c in message["tool_calls"]]}
    text = message.get("content") or message.get("refusal") or ""
    if finish == "tool_calls":
        return {"failed": "lost_call"}
    return {"answer": text} if text.strip() else {"failed": "empty"}


def arguments(function, finish):
    try:
        args = json.loads(function["arguments"])
        args = json.loads(args) if isinstance(args, str) else args
        return function["name"], args, None
    except json.JSONDecodeError:
        return function["name"], None, "cut_off" if finish == "length" else "not_json"


def fill(value, seen):
    """`{{observation}}` replaced in a text, or in every string of a call's arguments."""
    match value:
        case str():
            return value.replace("{{observation}}", seen)
        case dict():
            return {k: fill(v, seen) for k, v in value.items()}
        case list():
            return [fill(v, seen) for v in value]
    return value


def reply(chosen, seen):
    if "raw" in chosen:
        return from_raw(chosen["raw"])
    if "answer" in chosen:
        return {"answer": fill(chosen["answer"], seen)}
    calls = chosen.get("tool_calls") or [chosen["tool_call"]]
    return {"calls": [(c["tool"], fill(c["args"], seen), None) for c in calls]}


# A session

def verify(tool, args, why, tools):
    """Why the schema verifier blocks a call, or None."""
    if tool not in tools:
        return f"unknown_tool: known are {', '.join(tools)}"
    if why is None and not (isinstance(args, dict) and list(args) == [ARGUMENT[tool]] and isinstance(args[ARGUMENT[tool]], str)):
        return "schema"
    return why


def run(case, script, rng):
    tools = case.get("tools", list(ARGUMENT))
    folder = ROOT / "eval" / case["files"] if "files" in case else None
    left, failed, seen, steps = case.get("max_steps", MAX_STEPS), 0, "", []

    def end(status, answer=None, limit=None):
        return {"status": status, "limit": limit, "answer": answer, "steps": steps}

    for turn in range(left):
        said = reply(entry(script, rng, turn), seen)
        if "answer" in said:
            steps.append({"tool": None, "blocked": False, "ok": True, "content": ""})
            return end("completed", said["answer"])
        before = len(steps)
        for tool, args, why in said.get("calls", [(None, None, None)])[:left]:
            blocked = said.get("failed") or verify(tool, args, why, tools)
            ok, seen = (False, blocked) if blocked else run_tool(tool, args, folder)
            steps.append({"tool": tool, "args": args, "blocked": bool(blocked), "ok": ok, "content": seen})
        left -= len(steps) - before
        failed = 0 if any(s["ok"] for s in steps[before:]) else failed + 1
        if left == 0:
            return end("budget_exhausted", limit="steps")
        if failed == FAILED_TURNS:
            return end("fallback_stop")


# Checks

NUMBER = re.compile(r"(?:(?<![^\s(\[{])-)?[$€£]?\d[\d,]*(?:\.\d+)?|(?:(?<![^\s(\[{])-)?\.\d+")


def last_number(text):
    found = NUMBER.findall(text or "")
    return float(re.sub(r"[$€£,]", "", found[-1])) if found else math.nan


def fits(value, schema):
    """The part of JSON Schema that the suite uses."""
    types = {"object": dict, "array": list, "string": str, "integer": int}
    if "type" in schema and not isinstance(value, types[schema["type"]]):
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if isinstance(value, dict):
        known = schema.get("properties", {})
        return (all(k in value for k in schema.get("required", []))
                and (schema.get("additionalProperties", True) or all(k in known for k in value))
                and all(fits(v, known.get(k, {})) for k, v in value.items()))
    if isinstance(value, list):
        return (schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf)
                and all(fits(v, schema.get("items", {})) for v in value))
    return True


def answer_fits(answer, schema):
    try:
        return fits(json.loads(answer), schema)
    except json.JSONDecodeError:
        return False


def within(count, check):
    return check.get("min", 0) <= count <= check.get("max", math.inf)


def holds(check, outcome):
    answer, steps = outcome["answer"], outcome["steps"]
    ran = [s for s in steps if s["tool"] == check.get("tool") and not s["blocked"]]
    match check["kind"]:
        case "answer_equals":
            return answer == check["text"]
        case "answer_contains":
            return answer is not None and check["text"] in answer
        case "answer_regex":
            return answer is not None and re.search(check["pattern"], answer) is not None
        case "answer_number":
            return abs(last_number(answer) - check["equals"]) <= check.get("tolerance", 1e-9)
        case "answer_json":
            return answer is not None and answer_fits(answer, check["schema"])
        case "status":
            return outcome["status"] == check["is"]
        case "steps":
            return within(len(steps), check)
        case "tool_called":
            count = sum(check.get("args", {}).items() <= s["args"].items() for s in ran)
            return count == check["times"] if "times" in check else count > 0
        case "tool_not_called":
            return not ran
        case "blocked_steps":
            return within(sum(s["blocked"] for s in steps), check)
        case "observation_contains":
            return any(check["text"] in s["content"] for s in steps)
        case "cost_usd":
            return 0.0 <= check["max"]  # a script costs nothing
    raise KeyError(check["kind"])


# The whole suite

def lines(path, key):
    rows = [json.loads(line) for line in (ROOT / path).read_text().splitlines()]
    by_id = {row[key]: row for row in rows}
    assert len(by_id) == len(rows), f"{path}: an id stands twice"
    return by_id


def self_test():
    for row in json.loads((ROOT / "tests/golden/seeds.json").read_text()):
        rng = rng_seed(row["run_seed"], row["case"], row["seed"])
        assert str(rng) == row["rng_seed"] and rng & 0x7FFFFFFF == row["provider_seed"], row
        for d in row["draws"]:
            assert draw(rng, d["t"], d["j"], d["total"]) == d["value"], d


def sound(cases, scripts, sealed):
    assert list(cases) == list(scripts) == list(sealed), "the three files do not name the same cases"
    for id, half in sealed.items():
        for check in half["checks"]:
            answer = str(check.get("text", check.get("equals", ""))) if check["kind"].startswith("answer_") else ""
            assert len(answer) < 5 or answer not in json.dumps(cases[id]), f"{id}: the task holds its answer {answer}"


def main():
    self_test()
    cases, scripts = lines("eval/cases.jsonl", "id"), lines("configs/scripts/cases.jsonl", "case")
    sealed = lines("configs/sealed/cases.jsonl", "id")
    sound(cases, scripts, sealed)
    passes = {id: "" for id in cases}
    for seed in range(SEEDS):
        for id, case in cases.items():
            outcome = run(case, scripts[id]["script"], rng_seed(0, id, seed))
            passed = all(holds(c, outcome) != c.get("not", False) for c in sealed[id]["checks"])
            passes[id] += "+" if passed else "."
            print(json.dumps({"case": id, "seed": seed, "status": outcome["status"], "limit": outcome["limit"],
                              "steps": len(outcome["steps"]), "blocked": sum(s["blocked"] for s in outcome["steps"]),
                              "passed": passed}))
    for id, marks in passes.items():
        print(f"{id:14} {marks} {marks.count('+'):2}/{SEEDS}", file=sys.stderr)
    total = sum(marks.count("+") for marks in passes.values())
    print(f"{'all':14} {total}/{SEEDS * len(cases)} = {total / (SEEDS * len(cases)):.3f}", file=sys.stderr)


if __name__ == "__main__":
    main()
