"""The command blocks of a Markdown page, and how shown output is compared with real output."""
import re
from dataclasses import dataclass

FENCE = re.compile(r"^(\s*)(```+)(.*)$")
# A command that readers do not see: it prepares or awaits what the page speaks of.
SETUP = re.compile(r"^<!-- setup: (.*) -->$")
# What a fence may say. The first three are run, the others are not commands.
COMMANDS = ("sh", "console", "setup")
OTHERS = ("text", "json", "yaml", "markdown")
NOT_RUN = "no-test:"


@dataclass
class Block:
    line: int  # Of the opening fence, from 1.
    language: str
    reason: str  # Why it is not run; empty when it is.
    lines: list


@dataclass
class Step:
    """One thing that a reader types: a whole `sh` block, or one command of a `console` block."""

    line: int
    command: str
    shown: list  # What the page shows as its output; empty when nothing is compared.
    may_fail: bool = False


def blocks(text):
    """All fenced blocks and setup comments of a page, in order."""
    found = []
    opened = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None:
            if fence:
                language, _, rest = fence[3].strip().partition(" ")
                reason = ""
                if rest.strip().startswith(NOT_RUN):
                    reason = rest.strip()[len(NOT_RUN) :].strip()
                opened = fence[1], fence[2], Block(number, language, reason, [])
            elif setup := SETUP.match(line):
                found.append(Block(number, "setup", "", [setup[1]]))
        elif fence and fence[2] == opened[1] and not fence[3].strip():
            found.append(opened[2])
            opened = None
        else:
            opened[2].lines.append(line.removeprefix(opened[0]))
    if opened is not None:
        raise ValueError(f"line {opened[2].line}: a block without an end")
    return found


def steps(block):
    """What is typed for a block. A command of a `console` block may fail when `echo $?` follows it."""
    if block.language in ("sh", "setup"):
        return [Step(block.line, "\n".join(block.lines), [])]
    typed = []
    for offset, line in enumerate(block.lines, 1):
        if line.startswith("$ "):
            typed.append(Step(block.line + offset, line[2:], []))
        elif line.startswith("> ") and typed and not typed[-1].shown:
            typed[-1].command += "\n" + line[2:]
        elif typed:
            typed[-1].shown.append(line)
        else:
            raise ValueError(f"line {block.line}: a console block begins with a command: $ ...")
    for step, following in zip(typed, typed[1:]):
        step.may_fail = following.command.strip() == "echo $?"
    return typed


def screen(data):
    """What a terminal shows in the end: lines that were drawn again count once, colours not at all."""
    text = re.sub(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", "", data)
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        # Whatever was drawn before the line was erased is gone.
        line = re.split(r"\x1b\[2K|\x1b\[J", line)[-1]
        line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)
        lines.append(line.split("\r")[-1].rstrip())
    while lines and not lines[-1]:
        lines.pop()
    return lines


def matches(shown, real):
    """True when one shown line fits a real one; an ellipsis stands for any text."""
    pattern = ".*".join(re.escape(part) for part in shown.rstrip().split("…"))
    return re.fullmatch(pattern, real.rstrip()) is not None


def differs(shown, real):
    """The first shown line that has no place in the output, else None.

    Shown lines follow each other in the output as they do on the page. A line `...` stands for any
    number of lines; there may be others before the first and after the last.
    """
    groups = [[]]
    for line in shown:
        if line.strip() == "...":
            groups.append([])
        else:
            groups[-1].append(line)
    at = 0
    for group in (group for group in groups if group):
        best = 0
        for start in range(at, len(real) + 1):
            fits = 0
            while (
                fits < len(group)
                and start + fits < len(real)
                and matches(group[fits], real[start + fits])
            ):
                fits += 1
            best = max(best, fits)
            if fits == len(group):
                at = start + fits
                break
        else:
            return group[best]
    return None
