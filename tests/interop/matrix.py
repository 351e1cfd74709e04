"""Runs holon through LiteLLM to every backend. Usage: matrix.py HOLON LITELLM"""
import json
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
BACKENDS = {"gpt": "openai/gpt-test", "claude": "anthropic/claude-test",
            "vllm": "hosted_vllm/llama-test", "deepseek": "deepseek/deepseek-chat"}
TRANSPORTS = {"openai_chat_completions": "", "openai_responses": "/v1", "anthropic_messages": ""}
KEY = "sk-" + secrets.token_hex(32)
START_SECONDS = 600
RUN_SECONDS = 120


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def wait_for(url, process):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"LiteLLM ended with {process.returncode}")
        try:
            return get(url)
        except OSError:
            time.sleep(0.2)
    raise SystemExit("LiteLLM did not start")


def run(holon, folder, url, backend, last):
    """One cell of the matrix; what is wrong with it, or nothing."""
    transport, path, stream, gateway = url
    home = folder / f"{transport}-{backend}-{stream}"
    home.mkdir()
    provider = {"transport": transport, "base_url": gateway + path, "stream": stream,
                "auth": {"source": "env", "kind": "api_key", "env": "GATEWAY_KEY"}}
    (home / "config.json").write_text(json.dumps({"providers": {"gateway": provider}}))
    (home / "config.json").chmod(0o600)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "HOLON_HOME": str(home),
                   "GATEWAY_KEY": KEY, "HOLON_MODEL": f"gateway/{backend}",
                   "HOLON_OUTAGE_PATIENCE_MS": "1", "no_proxy": "127.0.0.1"}
    done = subprocess.run([holon, "run", "--json", "--agent", "k", "--create-agent", "go"],
                          env=environment, cwd=home, capture_output=True, text=True,
                          timeout=RUN_SECONDS)
    if done.returncode != 0:
        return f"exit {done.returncode}: {(done.stdout + done.stderr)[-400:]}"
    if json.loads(done.stdout).get("final_text") != "All rounds are done.":
        return "another answer: " + done.stdout[:200]
    conversation = last().decode()
    missing = [text for text in ("first-result", "second-result") if text not in conversation]
    return f"the last request lacks {missing}" if missing else None


def main(holon, litellm):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holon-interop-"))
    backend = subprocess.Popen([sys.executable, HERE / "backend.py"], stdout=subprocess.PIPE,
                               text=True)
    processes = [backend]
    try:
        address = f"http://127.0.0.1:{backend.stdout.readline().strip()}"
        models = [{"model_name": name,
                   "litellm_params": {"model": model, "api_key": "sk-backend",
                                      "api_base": address + ("" if name == "claude" else "/v1")}}
                  for name, model in BACKENDS.items()]
        (folder / "litellm.json").write_text(json.dumps({
            "model_list": models, "general_settings": {"master_key": KEY}}))
        port = free_port()
        gateway = f"http://127.0.0.1:{port}"
        with open(folder / "litellm.log", "w", encoding="utf-8") as log:
            proxy = subprocess.Popen(
                [litellm, "--config", folder / "litellm.json", "--host", "127.0.0.1", "--port",
                 str(port)], stdout=log, stderr=log,
                env={**os.environ, "no_proxy": "127.0.0.1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"})
        processes.append(proxy)
        wait_for(f"{gateway}/health/liveliness", proxy)
        failed = passed = 0
        for transport, path in TRANSPORTS.items():
            for stream in (True, False):
                for name in BACKENDS:
                    wrong = run(holon, folder, (transport, path, stream, gateway), name,
                                lambda: get(address + "/last"))
                    failed, passed = failed + bool(wrong), passed + (not wrong)
                    print(f"{transport} {'streamed' if stream else 'whole'} {name}: "
                          f"{wrong or 'ok'}", flush=True)
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
    finally:
        for process in processes:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
