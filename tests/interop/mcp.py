#!/usr/bin/env python3
"""holon with MCP servers that nobody here wrote, over stdio and Streamable HTTP. Usage: mcp.py HOLON FOLDER

Installs the servers from npm and PyPI into FOLDER once, then calls tools of each by plans, which need no
model, and checks what came back. Ends with 1 when a call fails.
"""
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

HOLON, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
NPM = ["@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem",
       "@modelcontextprotocol/server-memory"]
PYPI = ["mcp-server-git", "mcp-server-fetch", "mcp-server-time"]
PORT = 39017


def install():
    node, venv = FOLDER / "node", FOLDER / "venv"
    if not (node / "node_modules").is_dir():
        node.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", node, "--no-audit", "--no-fund", "--loglevel=error", *NPM], check=True)
    if not (venv / "bin" / "mcp-server-time").exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin" / "pip", "install", "--quiet", *PYPI], check=True)
    return node / "node_modules" / ".bin", venv / "bin"


class World:
    """A home with one server, and a project that it may work in."""

    def __init__(self, server):
        self.folder = Path(tempfile.mkdtemp(prefix="mcp-interop-", dir=FOLDER))
        self.project = self.folder / "project"
        (self.folder / "home").mkdir()
        self.project.mkdir()
        config = {"mcp": {"servers": {"s": server(self.project)}}, "sandbox": {"backend": "host_local"}}
        (self.folder / "home" / "config.json").write_text(json.dumps(config))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder),
                            "HOLON_HOME": str(self.folder / "home")}

    def holon(self, *words):
        return subprocess.run([HOLON, *words], cwd=self.project, env=self.environment, capture_output=True,
                              text=True, timeout=300)

    def call(self, tool, args):
        plan = {"version": "1.0", "goal": "Call", "riskLevel": "commands",
                "steps": [{"id": "one", "tool": f"mcp__s__{tool}", "args": args}]}
        (self.folder / "plan.json").write_text(json.dumps(plan))
        ran = self.holon("plan", "run", str(self.folder / "plan.json"), "--yes", "--json")
        shown = self.holon("plan", "show", "last", "--json")
        return ran.returncode, shown.stdout + ran.stderr


def check(name, server, calls):
    world, good = World(server), True
    for tool, args, expected in calls(world.project):
        began = time.monotonic()
        code, text = world.call(tool, args)
        is_good = code == 0 and re.search(expected, text) is not None
        good &= is_good
        print(f"{'ok  ' if is_good else 'FAIL'} {name} {tool} ({time.monotonic() - began:.1f} s)", flush=True)
        if not is_good:
            print(text[-2000:])
    return good


class Page(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"holon was here")


def serve_page():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/page.txt"


def everything(_):
    return [("echo", {"message": "hello holon"}, "hello holon"),
            ("get-sum", {"a": 40, "b": 2}, "42"),
            ("get-tiny-image", {}, "image/png"),
            ("get-structured-content", {"location": "Chicago"}, "temperature"),
            ("trigger-long-running-operation", {"duration": 3, "steps": 3}, "completed")]


def main():
    node, venv = install()
    good = check("everything (stdio)", lambda _: {"command": str(node / "mcp-server-everything"), "args": ["stdio"]}, everything)
    remote = subprocess.Popen([node / "mcp-server-everything", "streamableHttp"], env={**os.environ, "PORT": str(PORT)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/mcp", timeout=5)
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        good &= check("everything (HTTP)", lambda _: {"url": f"http://127.0.0.1:{PORT}/mcp"}, everything)
    finally:
        remote.kill()
    good &= check("filesystem", lambda project: {"command": str(node / "mcp-server-filesystem"), "args": [str(project)]},
                  lambda project: [("write_file", {"path": str(project / "a.txt"), "content": "abc"}, "wrote"),
                                   ("read_text_file", {"path": str(project / "a.txt")}, "abc"),
                                   ("list_directory", {"path": str(project)}, "a.txt")])
    good &= check("memory", lambda project: {"command": str(node / "mcp-server-memory"),
                                             "env": {"MEMORY_FILE_PATH": str(project / "memory.json")}},
                  lambda _: [("create_entities", {"entities": [{"name": "ada", "entityType": "person", "observations": ["counts"]}]}, "ada"),
                             ("search_nodes", {"query": "ada"}, "counts")])
    good &= check("time", lambda _: {"command": str(venv / "mcp-server-time")},
                  lambda _: [("get_current_time", {"timezone": "Europe/Berlin"}, "Europe/Berlin")])
    subprocess.run(["git", "init", "--quiet", FOLDER / "repository"], check=True)
    good &= check("git", lambda _: {"command": str(venv / "mcp-server-git"), "args": ["--repository", str(FOLDER / "repository")]},
                  lambda _: [("git_status", {"repo_path": str(FOLDER / "repository")}, "No commits yet")])
    page = serve_page()
    good &= check("fetch", lambda _: {"command": str(venv / "mcp-server-fetch"), "args": ["--ignore-robots-txt", "--allow-private-ips"]},
                  lambda _: [("fetch", {"url": page}, "holon was here")])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
