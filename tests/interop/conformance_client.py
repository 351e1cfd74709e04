#!/usr/bin/env python3
"""holon as the client of one scenario of the MCP conformance suite. Usage: conformance_client.py HOLON URL

The suite starts this with MCP_CONFORMANCE_SCENARIO and, for some, MCP_CONFORMANCE_CONTEXT. It is the operator and
the operator's browser: it logs in where the scenario wants it, and calls the server's first tool by a plan.
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

HOLON, URL = sys.argv[1], sys.argv[2]
SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
ASKS = "elicitation-sep1034-client-defaults"
TOOLS = {ASKS: ("test_client_elicitation_defaults", {}), "tools_call": ("add_numbers", {"a": 5, "b": 3}), 
         "sse-retry": ("test_reconnection", {})}
CLIENT_ID = "https://conformance-test.local/client-metadata.json"  # A client ID metadata document.
LOGINS_MAX = 2  # After the first one: more scopes do not help then.


def holon(*words):
    ran = subprocess.run([HOLON, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=60)
    print(ran.stdout, ran.stderr, file=sys.stderr)
    return ran.stdout + ran.stderr


def log_in(*more):
    login = subprocess.Popen([HOLON, "mcp", "login", "s", *more], env=environment, cwd=folder, text=True,
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for line in login.stderr:
        print(line, end="", file=sys.stderr)
        if line.startswith("http"):
            try:
                urllib.request.urlopen(line.strip(), timeout=30).read()
            except urllib.error.HTTPError as refused:
                print(refused, file=sys.stderr)
                login.kill()
    return login.wait(timeout=60)


def call(tool, args):
    plan = {"version": "1.0", "goal": "Call", "riskLevel": "commands",
            "steps": [{"id": "one", "tool": f"mcp__s__{tool}", "args": args}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    ran = holon("plan", "run", "plan.json", "--yes", "--json")
    return ran + holon("plan", "show", "last", "--json")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answer_all(over):
    """Accepts what the server asks, with its defaults."""
    while not over.wait(0.2):
        ran = subprocess.run([HOLON, "mcp", "questions", "--json"], env=environment, cwd=folder, capture_output=True)
        for question in json.loads(ran.stdout or b"[]"):
            holon("mcp", "answer", question["id"])


folder = Path(tempfile.mkdtemp(prefix="mcp-conformance-"))
server = {"url": URL, "risk": "read_only"}
environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "HOLON_HOME": str(folder / "home")}
if "client_id" in CONTEXT:
    server["oauth"] = {"client_id": CONTEXT["client_id"], "client_secret": "$SECRET"}
    environment["SECRET"] = CONTEXT["client_secret"]
elif SCENARIO == "auth/basic-cimd":
    server["oauth"] = {"client_id": CLIENT_ID}
(folder / "home").mkdir()
(folder / "home" / "config.json").write_text(json.dumps(
    {"mcp": {"servers": {"s": server}}, "sandbox": {"backend": "host_local"}}))
if SCENARIO.startswith("auth/") and log_in() != 0:
    sys.exit(1)
if SCENARIO == "initialize":
    sys.exit(0 if '"ready"' in holon("doctor", "--probe", "--json") else 1)
if SCENARIO == ASKS:  # Only a daemon can ask.
    environment["HOLON_HTTP_ADDR"] = f"127.0.0.1:{free_port()}"
    environment["HOLON_MODEL"] = "vllm/none"  # It is never asked.
    holon("daemon", "start")
    deadline = time.monotonic() + 60  # The daemon offers tools as soon as it has their list.
    while not (folder / "home" / "cache" / "mcp" / "s.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    over = threading.Event()
    threading.Thread(target=answer_all, args=(over,), daemon=True).start()
    call(*TOOLS[ASKS])
    over.set()
    holon("daemon", "stop")
    sys.exit(0)
tool, args = TOOLS.get(SCENARIO, ("test-tool", {}))
for _ in range(LOGINS_MAX):
    told = re.search(r"holon mcp login s --scope '([^']+)'", call(tool, args))
    if not told:
        break
    log_in("--scope", told[1])
