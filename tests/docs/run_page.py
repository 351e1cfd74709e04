#!/usr/bin/env python3
"""Types the command blocks of one page into a terminal and compares what the page shows.

Usage: run_page.py PROGRAM PAGE [--verbose]

A page has a user, a home and a project (a git repository made of examples/broken-calc) of its own, and is
typed into one shell from top to bottom, on a terminal of 80 columns. The model is scenarios/PAGE.json, else
one that answers everything with "Done."; providers with a key and local ones are a server on this machine.
Nothing reaches a network.
"""
import argparse
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

import blocks

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "interop"))
import backend  # noqa: E402

LIMIT_S = 300
COLUMNS, ROWS = 80, 50
# Put between the outputs of two steps; no output has this byte.
MARK = "\x1e"
# The address on the page, and the one that is free on this machine.
PORT_OF_PAGE = "127.0.0.1:7878"
ANYTHING = {"loop": True, "rounds": [{"text": "Done."}]}

SHELL = """\
exit_code() { return "$1"; }
wait_for() { until eval "$1"; do sleep 0.1; done; }
block() { cat "$block_folder/block.$1"; }
"""
# `echo $?` sees the exit code of the step before it, as in a terminal.
STEP = """\
set {flag}
exit_code ${{docs_status:-0}}; . {file}
docs_status=$?
set +e
printf '{mark}%d\\n' "$docs_status"
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def model_server():
    """A server of three model APIs that answers every request with one sentence."""
    backend.COMMANDS.clear()
    backend.ANSWER = "It is a calculator for the command line, with a test that fails."
    server = ThreadingHTTPServer(("127.0.0.1", 0), backend.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class World:
    """A folder with a user, a project and the program in PATH; gone at the end."""

    def __init__(self, program, page):
        # Short, because a socket below it must fit into 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="holon-docs."))
        self.user = self.folder / "user"
        self.project = self.user / "calc"
        programs = self.folder / "bin"
        self.project.mkdir(parents=True)
        programs.mkdir()
        (programs / "holon").symlink_to(program)
        scenario = Path(__file__).parent / "scenarios" / f"{page.stem}.json"
        model = self.folder / "model.json"
        model.write_text(scenario.read_text() if scenario.is_file() else json.dumps(ANYTHING))
        self.port = free_port()
        server = model_server()
        self.environment = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.user),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "NO_COLOR": "1",
            "TZ": "UTC",
            "SHELL": "/bin/bash",
            "EDITOR": "true",
            "HOLON_MODEL": f"scripted/{model}",
            "HOLON_HTTP_ADDR": f"127.0.0.1:{self.port}",
            "ANTHROPIC_BASE_URL": server,
            "OPENAI_BASE_URL": server,
            "HOLON_VLLM_BASE_URL": server,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for name in ("calc.py", "test_calc.py", "scenario.json"):
            shutil.copy(ROOT / "examples" / "broken-calc" / name, self.project)
        # As in a clone of holon, which is where some pages begin.
        shutil.copytree(ROOT / "examples", self.project / "examples")
        for command in (
            ["config", "--global", "user.name", "Reader"],
            ["config", "--global", "user.email", "reader@example.org"],
            ["init", "-q", "-b", "main"],
            ["add", "calc.py", "test_calc.py"],
            ["commit", "-q", "-m", "A calculator"],
        ):
            subprocess.run(["git", *command], cwd=self.project, env=self.environment, check=True)
        (self.project / ".git" / "info" / "exclude").write_text("/examples/\n/scenario.json\n")

    def close(self):
        try:
            # Always: a page that failed may have left a daemon.
            subprocess.run(
                ["holon", "daemon", "stop"], cwd=self.project, env=self.environment, check=False,
                stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
            )  # fmt: skip
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def type_in(world, steps):
    """Runs the steps in one shell; the output and exit code of each one that ended."""
    script = f"block_folder={world.folder}\n" + SHELL
    for number, step in enumerate(steps):
        failed_before = number > 0 and steps[number - 1].may_fail
        file = world.folder / f"step-{number}.sh"
        command = step.command.replace(PORT_OF_PAGE, f"127.0.0.1:{world.port}")
        file.write_text(command + "\n")
        script += STEP.format(flag="+e" if step.may_fail or failed_before else "-e", file=file, mark=MARK)
    begun = time.monotonic()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    shell = subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-c", script], cwd=world.project, env=world.environment,
        stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    data = read_until(master, begun + LIMIT_S)
    if shell.poll() is None and time.monotonic() >= begun + LIMIT_S:
        print(f"the page takes more than {LIMIT_S} s; it was ended in the step that failed")
        os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    text = data.decode(errors="replace").replace(f"127.0.0.1:{world.port}", PORT_OF_PAGE)
    parts = re.split(f"{MARK}(\\d+)\r?\n", text)
    ended = [(parts[i], int(parts[i + 1])) for i in range(0, len(parts) - 1, 2)]
    if len(ended) < len(steps):
        ended.append((parts[-1], shell.returncode or 1))
    return ended


def read_until(master, deadline):
    """Everything until the terminal is closed, or until the deadline."""
    data = b""
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 1.0)[0]:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:  # The last program that had it open has ended.
            piece = b""
        if not piece:
            break
        data += piece
    os.close(master)
    return data


def faults(page, steps, ended, verbose):
    for step, (text, status) in zip(steps, ended):
        real = blocks.screen(text)
        place = f"{page}:{step.line}"
        if verbose:
            print(f"--- {place} [{status}]\n$ {step.command}")
            print("\n".join(real), flush=True)
        said = "\n".join(f"    {line}" for line in real[-40:])
        if status != 0 and not step.may_fail:
            yield f"{place}: ended with {status}:\n    {step.command}\n{said}"
        missing = blocks.differs(step.shown, real)
        if missing is not None:
            yield f"{place}: the output has no line (here): {missing}\n    $ {step.command}\n{said}"
    if len(ended) < len(steps):
        yield f"{page}: {len(steps) - len(ended)} steps behind the failed one were not typed"


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("program", type=Path)
    reader.add_argument("page", type=Path)
    reader.add_argument("--verbose", action="store_true", help="print what each step printed")
    given = reader.parse_args()
    if not os.access(given.program, os.X_OK):
        sys.exit(f"there is no program {given.program}; build it first")
    found = blocks.blocks(given.page.read_text(encoding="utf-8"))
    typed = [block for block in found if block.language in blocks.COMMANDS and not block.reason]
    steps = [step for block in typed for step in blocks.steps(block)]
    if not steps:
        print(f"{given.page.name}: no commands")
        return 0
    world = World(given.program.resolve(), given.page)
    for block in reversed(found):
        if block.language in blocks.OTHERS:
            text = "".join(line + "\n" for line in block.lines)
            (world.folder / f"block.{block.language}").write_text(text)
    try:
        ended = type_in(world, steps)
    finally:
        world.close()
    found = list(faults(given.page.name, steps, ended, given.verbose))
    for fault in found:
        print(fault)
    print(f"{given.page.name}: {len(steps)} steps, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
