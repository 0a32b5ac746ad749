"""wire.py load COMMAND... | ends TOOL COMMAND...: a stdio server as its pipes show it.

load: 2,000 calls of the calculator, 8 at once; every line must be the answer to one of them.
ends: closes the server's input, in both eras, when it is idle and, if TOOL is not -, while that tool runs,
and prints how long it takes to end. Its exit code must be 0.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time

LEGACY, MODERN = "2025-11-25", "2026-07-28"
CALLS, AT_ONCE, ENDS = 2000, 8, 20


class Server:
    def __init__(self, command, version=MODERN):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.version = version
        if version == LEGACY:
            client = {"name": "wire.py", "version": "1"}
            hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
            self.send(id=-1, method="initialize", params=hello)
            assert self.answer()["result"]["protocolVersion"] == version
            self.send(method="notifications/initialized")

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, number, tool, **args):
        params = {"name": tool, "arguments": args}
        if self.version == MODERN:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        self.send(id=number, method="tools/call", params=params)

    def answer(self):
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0" and "method" not in message, message
        return message

    def end(self):
        """Closes the input; the seconds until it is over, and what it said meanwhile."""
        began = time.monotonic()
        self.process.stdin.close()
        said = self.process.stdout.read().splitlines()
        code = self.process.wait()
        took = time.monotonic() - began
        complaints = self.process.stderr.read().decode()
        assert (code, complaints) == (0, ""), (code, complaints)
        return took, [json.loads(line) for line in said]


def load(command):
    server, began = Server(command), time.monotonic()
    ask = lambda n: server.call(n, "calculator", expression=f"{n} + 1")
    for n in range(AT_ONCE):
        ask(n)
    answered = set()
    while len(answered) < CALLS:
        answer = server.answer()
        n = answer["id"]
        assert n not in answered and answer["result"]["structuredContent"] == {"result": str(n + 1)}, answer
        answered.add(n)
        following = len(answered) + AT_ONCE - 1
        if following < CALLS:
            ask(following)
    took = time.monotonic() - began
    _, said = server.end()
    assert not said, said
    print(f"{CALLS} calls, {AT_ONCE} at once: no error, clean stdout, {CALLS / took:.0f}/s")


def ends(tool, command, version):
    idle, busy = [], []
    for _ in range(ENDS):
        server = Server(command, version)
        server.call(0, "nonsense")
        assert server.answer()["error"]["code"] == -32602
        took, said = server.end()
        assert not said, said
        idle.append(took)
    for _ in range(ENDS if tool != "-" else 0):
        server = Server(command, version)
        server.call(1, tool)
        server.call(2, "nonsense")
        assert server.answer()["id"] == 2
        took, said = server.end()
        assert [message["id"] for message in said] == [1], said
        busy.append(took)
    who = f"{os.path.basename(command[0])}, {version}"
    for name, took in (("idle", idle), ("while a call runs", busy)):
        if took:
            median, most = statistics.median(took) * 1000, max(took) * 1000
            print(f"{who}: exit after the end of the input, {name}: {median:.0f} ms, at most {most:.0f} (bar 100)")


# A server that does not end is not waited for.
signal.alarm(120)
match sys.argv[1:]:
    case ["load", *command]:
        load(command)
    case ["ends", tool, *command]:
        for version in (LEGACY, MODERN):
            ends(tool, command, version)
