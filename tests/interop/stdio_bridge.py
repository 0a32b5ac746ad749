"""stdio_bridge.py COMMAND...: a stdio server of MCP behind HTTP, for the conformance suite, which knows
HTTP servers only.

Prints its port and serves POST /mcp on 127.0.0.1 until it is ended. Lines pass unchanged. A session of
the older eras (Mcp-Session-Id) has a process of its own; a request of 2026-07-28, which has no session,
has one as well. What a server says before an answer goes out with it, as server-sent events.
"""

import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE_S = 20


class Server:
    """A process, one line a message."""

    def __init__(self):
        self.process = subprocess.Popen(
            sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.lines, self.lock = queue.Queue(), threading.Lock()
        threading.Thread(target=self.pump, daemon=True).start()

    def pump(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def send(self, body):
        self.process.stdin.write(body.replace("\n", " ") + "\n")
        self.process.stdin.flush()

    def ask(self, body, request_id):
        """The lines up to the answer, which is the last. A line that is no JSON fails the request."""
        said = []
        with self.lock:
            self.send(body)
            while (line := self.lines.get(timeout=PATIENCE_S)) is not None:
                said.append(line)
                message = json.loads(line)
                if "method" not in message and message.get("id", request_id) == request_id:
                    return said
        raise RuntimeError("the server ended before it answered")

    def end(self):
        self.process.stdin.close()
        if code := self.process.wait(PATIENCE_S):
            raise RuntimeError(f"the server ended with exit code {code}")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = {}

    def log_message(self, *_):
        pass

    def reply(self, status, body="", kind="application/json", session=None):
        self.send_response(status)
        if body:
            self.send_header("Content-Type", kind)
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        server = self.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if server:
            server.end()
        self.reply(200 if server else 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        message, session = json.loads(body), self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            session = uuid.uuid4().hex
            self.sessions[session] = Server()
        server = self.sessions.get(session) if session else Server()
        if server is None:
            return self.reply(404)
        if "id" not in message:
            server.send(body)
            said = []
        else:
            said = server.ask(body, message["id"])
        if not session:
            server.end()
        if not said:
            return self.reply(202)
        if len(said) > 1:
            events = "".join(f"event: message\ndata: {line}\n\n" for line in said)
            return self.reply(200, events, "text/event-stream", session)
        error = json.loads(said[0]).get("error")
        status = {-32601: 404}.get(error["code"], 400) if error and not session else 200
        self.reply(status, said[0], session=session)


http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(http.server_port, flush=True)
http.serve_forever()
