#!/usr/bin/env python3
"""A Model Context Protocol server over Streamable HTTP, with faults on demand. Usage: http_server.py MODE

Prints its port, then serves until its standard input ends. Written against the protocol and not against
our client: it rejects what the protocol says it must.

MODE: json, sse (answers are streams of events), broken (streams break and are continued), silent (they break
and cannot be), expired (forgets its session after the first call), auth (wants the token t-1), drip (sends a
byte at a time), flood (a stream without end), moved (redirects), stateless (the revision of 2026-07-28).
"""
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
VERSION = "2026-07-28" if MODE == "stateless" else "2025-11-25"
SESSION = "session-\u007e1"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": "echo", "description": "Says the text again.", "inputSchema": TEXT},
         {"name": "seen", "description": "Which headers came.", "inputSchema": {"type": "object", "properties": {}}},
         {"name": "wait", "description": "Never answers.", "inputSchema": {"type": "object", "properties": {}}},
         {"name": "change", "description": "Adds a tool.", "inputSchema": {"type": "object", "properties": {}}}]
listeners, calls, gets, kept = [], [], [], {}
changed = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", type="application/json", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if body:
            self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def error(self, status, id, code, message):
        self.answer(status, json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).encode())

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def begin_stream(self, **headers):
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def reply(self, message, **headers):
        """One answer, in the way of the mode."""
        body = json.dumps({"jsonrpc": "2.0", **message})
        if MODE in ("json", "expired", "auth", "stateless"):
            return self.answer(200, body.encode(), **headers)
        self.begin_stream(**headers)
        if MODE == "flood" and "tools" not in body and "protocolVersion" not in body:
            while True:
                self.chunk("data: " + "x" * 65536)
        if MODE == "drip":
            for letter in f"data: {body}\n\n":
                self.chunk(letter)
        elif MODE in ("broken", "silent") and "protocolVersion" not in body and "tools" not in body:
            # The stream ends before the answer; a client that asks for what follows gets it.
            kept["e-1"] = body
            if MODE == "broken":
                self.chunk("id: e-1\nretry: 5\ndata:\n\n")
            else:
                self.chunk(": nothing yet\n\n")
        else:
            self.chunk(f": hello\nevent: message\ndata: {body[:10]}\ndata: {body[10:]}\n\n")
        self.chunk("")
        self.wfile.flush()

    def do_GET(self):
        gets.append(dict(self.headers))
        if MODE == "stateless":
            return self.answer(405)
        last = self.headers.get("Last-Event-ID")
        if last in kept:
            self.begin_stream()
            self.chunk(f"id: e-2\ndata: {kept.pop(last)}\n\n")
            return self.chunk("")
        if MODE != "sse":
            return self.answer(405)
        self.begin_stream()
        changed.wait()
        self.chunk('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
        time.sleep(600)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        id, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if MODE == "moved":
            return self.answer(302, Location="http://127.0.0.1:1/")
        if MODE == "auth" and self.headers.get("Authorization") != "Bearer t-1":
            return self.answer(401, b"{}", WWW_Authenticate="Bearer")
        if "text/event-stream" not in self.headers.get("Accept", "") or "application/json" not in self.headers["Accept"]:
            return self.error(406, id, -32000, "Accept both")
        if MODE == "stateless":
            return self.stateless(id, method, params)
        if method == "initialize":
            return self.reply({"id": id, "result": {
                "protocolVersion": VERSION, "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "http", "version": "1"}}}, Mcp_Session_Id=SESSION)
        if self.headers.get("Mcp-Session-Id") != SESSION:
            return self.error(400, id, -32000, "no session")
        if self.headers.get("MCP-Protocol-Version") != VERSION:
            return self.error(400, id, -32000, "no version")
        if MODE == "expired" and len(calls) == 1:
            calls.append("again")
            return self.error(404, id, -32001, "session not found")
        if id is None:
            return self.answer(202)
        self.serve(id, method, params)

    def stateless(self, id, method, params):
        meta = params.get("_meta", {})
        if self.headers.get("MCP-Protocol-Version") != VERSION or meta.get("io.modelcontextprotocol/protocolVersion") != VERSION:
            return self.error(400, id, -32022, "Unsupported protocol version")
        if self.headers.get("Mcp-Method") != method or (
                method == "tools/call" and self.headers.get("Mcp-Name") != params["name"]):
            return self.error(400, id, -32020, "header mismatch")
        if self.headers.get("Mcp-Session-Id"):
            return self.error(400, id, -32000, "there are no sessions")
        if method == "server/discover":
            return self.reply({"id": id, "result": {
                "resultType": "complete", "supportedVersions": [VERSION], "capabilities": {"tools": {}},
                "serverInfo": {"name": "stateless", "version": "1"}}})
        self.serve(id, method, params)

    def serve(self, id, method, params):
        if method == "tools/list":
            return self.reply({"id": id, "result": {"tools": TOOLS}})
        if method != "tools/call":
            return self.error(404, id, -32601, "unknown")
        calls.append(params["name"])
        if params["name"] == "wait":
            self.begin_stream()
            try:
                while True:
                    self.chunk(": waiting\n\n")
                    time.sleep(0.05)
            except OSError:
                return None
        if params["name"] == "change":
            TOOLS.append({"name": "added", "description": "Came later.", "inputSchema": {"type": "object", "properties": {}}})
            changed.set()
        words = json.dumps({"gets": len(gets), "agent": self.headers["User-Agent"]}) \
            if params["name"] == "seen" else params.get("arguments", {}).get("text", "done")
        return self.reply({"id": id, "result": {"content": [{"type": "text", "text": words}]}})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
