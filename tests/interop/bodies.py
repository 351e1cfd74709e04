"""Checks the requests that holon sends against the vendors' own typed definitions.

Usage: bodies.py HOLON [COUNT]. Runs turns that vary in prompts, tool calls, results and settings against
backend.py, and validates each body with the types that the Python packages `openai` and `anthropic`
publish. A field that a definition does not have is a failure, too.
"""
import collections
import functools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import typing
import urllib.request

# The validator checks the items of a list at once, but those of an iterable only when they are taken.
typing.Iterable = typing.List

import pydantic  # noqa: E402
from anthropic.types import message_create_params  # noqa: E402
from openai.types.chat import completion_create_params  # noqa: E402
from openai.types.responses import response_create_params  # noqa: E402

HERE = pathlib.Path(__file__).parent
RUN_SECONDS = 120
FAILURES_SHOWN = 10
TRANSPORTS = {"openai_chat_completions": "/v1", "openai_responses": "/v1", "anthropic_messages": ""}
TYPES = {
    ("openai_chat_completions", True): completion_create_params.CompletionCreateParamsStreaming,
    ("openai_chat_completions", False): completion_create_params.CompletionCreateParamsNonStreaming,
    ("openai_responses", True): response_create_params.ResponseCreateParamsStreaming,
    ("openai_responses", False): response_create_params.ResponseCreateParamsNonStreaming,
    ("anthropic_messages", True): message_create_params.MessageCreateParamsStreaming,
    ("anthropic_messages", False): message_create_params.MessageCreateParamsNonStreaming,
}
TEXTS = ["go", "naïve – 你好 🙂", "a\tb\nc", "x" * 5000, '{"json": [1, null]}', "<tag>&amp;", "​ ",
         "-- dashes", "\\u0000 is not NUL", "line one\r\nline two"]
COMMANDS = ["echo first-result", "printf 'a\\000b\\033[31mred'", "true", "false", "printf ''",
            "seq 1 2000", "echo 你好 >&2; exit 3", "printf '\\377\\376'"]


def refuse_unknown_members():
    """A member that a definition does not have is a fault, at every depth."""
    models = set()
    for name, module in list(sys.modules.items()):
        if not name.startswith(("openai.types", "anthropic.types")):
            continue
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and hasattr(kind, "__required_keys__"):
                kind.__pydantic_config__ = pydantic.ConfigDict(
                    extra="forbid", arbitrary_types_allowed=True)
            elif isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
                kind.model_config["extra"] = "forbid"  # Blocks of a reply may be sent back as they are.
                models.add(kind)
    for kind in models:
        kind.model_rebuild(force=True)


@functools.cache
def validator(kind):
    return pydantic.TypeAdapter(kind)


def fault_of(transport, body):
    try:
        validator(TYPES[transport, bool(body.get("stream"))]).validate_python(body, strict=True)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        return f"{error.error_count()} faults, the first at {first['loc']}: {first['msg']}"
    return None


def captured(address):
    with urllib.request.urlopen(address + "/taken", timeout=10) as answer:
        return json.loads(answer.read())


def run(holon, folder, address, transport, chance):
    home = folder / f"{transport}-{chance.random()}"
    home.mkdir()
    provider = {"transport": transport, "base_url": address + TRANSPORTS[transport],
                "stream": chance.random() < 0.5,
                "auth": {"source": "env", "kind": "api_key", "env": "GATEWAY_KEY"}}
    if chance.random() < 0.4:
        provider["reasoning_effort"] = chance.choice(["low", "medium", "high"])
    if transport == "openai_responses" and chance.random() < 0.3:
        provider["keeps_state"] = True
    (home / "config.json").write_text(json.dumps({"providers": {"gateway": provider}}))
    (home / "config.json").chmod(0o600)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "HOLON_HOME": str(home),
                   "GATEWAY_KEY": "sk-interop", "HOLON_MODEL": "gateway/m", "no_proxy": "127.0.0.1",
                   "HOLON_OUTAGE_PATIENCE_MS": "1"}
    for _ in range(chance.randint(1, 3)):
        subprocess.run([holon, "run", "--json", "--agent", "k", "--create-agent",
                        chance.choice(TEXTS)], env=environment, cwd=home, capture_output=True,
                       timeout=RUN_SECONDS, check=False)


def main(holon, count):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holon-bodies-"))
    chance = random.Random(7)
    backend = subprocess.Popen([sys.executable, HERE / "backend.py", *COMMANDS],
                               stdout=subprocess.PIPE, text=True)
    refuse_unknown_members()
    checked, failed = collections.Counter(), collections.Counter()
    shown = 0
    try:
        address = f"http://127.0.0.1:{backend.stdout.readline().strip()}"
        while min((checked[name] for name in TRANSPORTS), default=0) * len(TRANSPORTS) < count:
            for transport in TRANSPORTS:
                run(holon, folder, address, transport, chance)
                bodies = captured(address)
                if not bodies:
                    sys.exit(f"{transport}: no request arrived")
                for body in bodies:
                    checked[transport] += 1
                    fault = fault_of(transport, body)
                    failed[transport] += bool(fault)
                    if fault and shown < FAILURES_SHOWN:
                        shown += 1
                        print(f"{transport}: {fault}\n  {json.dumps(body)[:600]}", flush=True)
    finally:
        backend.terminate()
        backend.wait()
    for transport in TRANSPORTS:
        print(f"{transport}: {checked[transport]} bodies, {failed[transport]} invalid")
    return 1 if failed.total() else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000))
