#!/usr/bin/env python3
"""The official MCP conformance suite for clients, for what applies to holon. Usage: conformance.py HOLON FOLDER

Installs the suite, and a Node that it runs with, from npm into FOLDER once. Ends with 1 when a scenario fails.
"""
import re
import subprocess
import sys
from pathlib import Path

HOLON, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PACKAGES = ["@modelcontextprotocol/conformance@0.1.16", "node@22"]
TIMEOUT_MS = 120_000
# Left out: credentials without a person (extensions).
SCENARIOS = """initialize tools_call sse-retry elicitation-sep1034-client-defaults auth/metadata-default
auth/metadata-var1 auth/metadata-var2
auth/metadata-var3 auth/basic-cimd auth/scope-from-www-authenticate auth/scope-from-scopes-supported
auth/scope-omitted-when-undefined auth/scope-step-up auth/scope-retry-limit auth/token-endpoint-auth-basic
auth/token-endpoint-auth-post auth/token-endpoint-auth-none auth/pre-registration
auth/2025-03-26-oauth-metadata-backcompat auth/2025-03-26-oauth-endpoint-fallback auth/resource-mismatch
auth/offline-access-scope auth/offline-access-not-supported""".split()


def install():
    if not (FOLDER / "node_modules").is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", FOLDER, "--no-audit", "--no-fund", "--loglevel=error", *PACKAGES],
                       check=True)
    modules = FOLDER / "node_modules"
    return [modules / ".bin" / "node", modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"]


suite = install()
client = Path(__file__).resolve().parent / "conformance_client.py"
failed = []
for scenario in sys.argv[3:] or SCENARIOS:
    ran = subprocess.run([*suite, "client", "--command", f"{sys.executable} {client} {HOLON}", "--scenario", scenario,
                          "--timeout", str(TIMEOUT_MS)], cwd=FOLDER, capture_output=True, text=True)
    print(f"{'ok    ' if ran.returncode == 0 else 'FAILED'} {scenario}", flush=True)
    if ran.returncode != 0:
        failed.append(scenario)
        print(re.sub(r"\x1b\[[0-9;]*m", "", ran.stdout + ran.stderr)[-4000:])
print(f"mcp conformance: {len(failed)} failed")
sys.exit(1 if failed else 0)
