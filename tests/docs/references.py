#!/usr/bin/env python3
"""Compares the lists of commands, keys, routes and events in docs/ with what the program says of itself.

Usage: references.py PROGRAM [--write]

With --write the tables are made again; the sentence that says when an event happens is kept, and has to be
written by hand for a new kind.
"""
import argparse
import http.client
import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import run_page

DOCS = run_page.ROOT / "docs"
MADE = "<!-- made by tests/docs/references.py"


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def asked(program):
    """The manual page, the keys, and the OpenAPI document of a daemon."""
    world = run_page.World(program.resolve(), DOCS / "none.md")
    try:
        def holon(*arguments):
            done = subprocess.run(
                ["holon", *arguments], cwd=world.project, env=world.environment, check=True,
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
            )  # fmt: skip
            return done.stdout

        keys = json.loads(holon("config", "schema"))
        holon("daemon", "start")
        connection = SocketConnection(world.user / ".holon" / "run" / "holon.sock")
        connection.request("GET", "/openapi.json")
        return holon("help", "--man"), keys, json.load(connection.getresponse())
    finally:
        world.close()


def cell(text):
    return " ".join(str(text).replace("|", "\\|").split())


def key_rows(keys):
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for key in keys:
        default = "" if key["default"] is None else f"`{cell(json.dumps(key['default']))}`"
        kind = key["kind"].replace("_", " ")
        yield f"| `{key['key']}` | {kind} | {default} | {cell(key['description'])} |"


# Options that nearly every command has; the page explains them once.
SHARED = ("--home", "--json", "--plain", "--help")


def command_rows(manual):
    """A section for each command, with a table of its subcommands and their options."""
    commands = manual.split(".SH COMMANDS\n")[1].split("\n.SH ")[0]
    section = None
    for part in re.split(r"^\.SS ", commands, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        # Examples stand in a block of their own at the end.
        entries = rest.split("\n.PP\n")[0].split("\n.TP\n")
        if " ".join(name.split()[:2]) != section:
            section = " ".join(name.split()[:2])
            yield from ("", f"## {section}", "", "| | |", "|---|---|")
        yield f"| **`{plain(name)}`** | {plain(entries[0])} |"
        for entry in entries[1:]:
            option, _, meaning = entry.partition("\n")
            if plain(option) not in SHARED:
                yield f"| `{plain(option)}` | {plain(meaning)} |"


def plain(roff):
    return cell(re.sub(r"\\f[BIR]", "", roff).replace("\\-", "-").removeprefix(".TP"))


def route_rows(document):
    yield "| route | what it does |"
    yield "|---|---|"
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            yield f"| `{method.upper()} {path}` | {cell(route['summary'])} |"


def written_by_hand(lines):
    """Kind -> when it happens, of the table as it is."""
    rows = [line.split(" | ") for line in lines if line.startswith("| `")]
    return {row[0].strip("| `"): row[1] for row in rows}


def event_rows(document, when):
    yield "| kind | when | members |"
    yield "|---|---|---|"
    schemas = document["components"]["schemas"]
    for kind in document["x-event-kinds"]:
        name = kind["type"]
        members = schemas[f"event.{name}"].get("properties", {})
        listed = ", ".join(f"`{member}`" for member in members) or "any"
        yield f"| `{name}` | {when.get(name, 'MISSING')} | {listed} |"


def table_of(page):
    """The lines before the table, and those of the table; it is the last thing on its page."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith(MADE)) + 1
    return lines[:at], lines[at:]


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("program", type=Path)
    reader.add_argument("--write", action="store_true", help="make the tables again")
    given = reader.parse_args()
    manual, keys, document = asked(given.program)
    made = {
        "commands.md": command_rows(manual),
        "configuration-keys.md": key_rows(keys),
        "http-routes.md": route_rows(document),
        "events.md": event_rows(document, written_by_hand(table_of("events.md")[1])),
    }
    faults = 0
    for page, rows in made.items():
        before, old = table_of(page)
        new = list(rows)
        if given.write:
            (DOCS / page).write_text("\n".join([*before, *new]) + "\n", encoding="utf-8")
        changed = set() if given.write else set(old) ^ set(new)
        if not given.write and old != new and not changed:
            changed = {"the order has changed"}
        undescribed = [row for row in new if "| MISSING |" in row]
        for row in [*sorted(changed), *undescribed]:
            print(f"{page}: {row}")
        faults += len(changed) + len(undescribed)
    if faults:
        print("Make the tables again: tests/docs/references.py PROGRAM --write; then describe new events.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
