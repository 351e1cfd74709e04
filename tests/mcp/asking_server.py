#!/usr/bin/env python3
"""An MCP server over stdio that asks the operator, and offers prompts. Usage: asking_server.py MODE

MODE: session (2025-11-25, asks by requests of its own), stateless (2026-07-28, asks by results that want more
input), mute (lists no prompts when it is asked), hanging (never answers when it is asked for
prompts), silent (never asks).
Tools: form, url, nested (a form that is not flat), flood (asks 20 times at once), sample, endless (always wants more
input). Each says what it was answered.
"""
import json
import sys
import threading

MODE = sys.argv[1]
STATELESS = "2026-07-28"
NONE = {"type": "object", "properties": {}}
FORM = {"mode": "form", "message": "Who are you?", "requestedSchema": {
    "type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "description": "Your name"}, "age": {"type": "integer", "default": 30},
        "tall": {"type": "boolean", "default": True}}}}
URL = {"mode": "url", "message": "Pay here.", "url": "https://pay.example/1", "elicitationId": "e-1"}
NESTED = {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": NONE}}}
TOOLS = ["form", "url", "nested", "flood", "sample", "endless"]
PROMPTS = [{"name": "triage", "description": "Sorts an issue.", "arguments": [{"name": "issue", "required": True}]}]
METHODS = {"sample": ("sampling/createMessage", {"messages": [], "maxTokens": 1})}
PARAMS = {"form": FORM, "url": URL, "nested": NESTED, "endless": FORM}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def text(value):
    words = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return {"resultType": "complete", "content": [{"type": "text", "text": words}]}


def asked_in_session(name):
    """Asks, and returns what came back; other messages that come meanwhile are not expected."""
    if name == "flood":
        for number in range(20):
            send({"id": f"q{number}", "method": "elicitation/create", "params": FORM})
        answers = [read() for _ in range(20)]
        return text(sorted(answer["result"]["action"] for answer in answers))
    method, params = METHODS.get(name, ("elicitation/create", PARAMS.get(name)))
    send({"id": "q", "method": method, "params": params})
    answer = read()
    return text(answer.get("result", answer.get("error")))


def asked_in_result(name, params):
    if "inputResponses" in params and name != "endless":
        assert params["requestState"] == "state-1", params
        return text(params["inputResponses"])
    method, wanted = METHODS.get(name, ("elicitation/create", PARAMS.get(name)))
    return {"resultType": "input_required", "requestState": "state-1",
            "inputRequests": {"q": {"method": method, "params": wanted}}}


def on_request(method, params):
    if method == "initialize" and MODE != "stateless":
        capabilities.update(params["capabilities"])
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "prompts": {}},
                "serverInfo": {"name": "asking", "version": "1"}}
    if method == "server/discover":
        return {"resultType": "complete", "supportedVersions": [STATELESS],
                "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": {"name": "asking", "version": "1"}}
    if method == "tools/list":
        return {"resultType": "complete",
                "tools": [{"name": name, "description": name, "inputSchema": NONE} for name in TOOLS]}
    if method.startswith("prompts/") and MODE == "hanging":
        threading.Event().wait()
    if method == "prompts/list" and MODE != "mute":
        return {"resultType": "complete", "prompts": PROMPTS}
    if method == "prompts/get":
        issue = params.get("arguments", {}).get("issue")
        return {"resultType": "complete", "messages": [
            {"role": "user", "content": {"type": "text", "text": f"Sort issue {issue}."}}]} if issue else None
    if method == "tools/call":
        if MODE == "stateless":
            capabilities.update(params["_meta"]["io.modelcontextprotocol/clientCapabilities"])
        if "elicitation" not in capabilities and params["name"] != "sample":
            return text("nobody can be asked")
        return asked_in_result(params["name"], params) if MODE == "stateless" else asked_in_session(params["name"])
    return None


capabilities = {}
while True:
    message = read()
    if "id" in message and "method" in message:
        result = on_request(message["method"], message.get("params", {}))
        if result is None:
            send({"id": message["id"], "error": {"code": -32602, "message": "I refuse"}})
        else:
            send({"id": message["id"], "result": result})
