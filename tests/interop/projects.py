#!/usr/bin/env python3
"""Builds, tests and commits real projects inside the boundary. Usage: projects.py HOLON

Offline: what a project needs comes from the system's packages. A project whose toolchain is not
installed is reported as skipped; run `apt install cmake g++ googletest cargo golang-go nodejs
python3` for all of them.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMIT = "git add -A && git commit -qm 'By an agent' && git log --oneline"

GO_TEST = """package greet

import "testing"

func TestGreet(t *testing.T) {
\tif Greet("x") != "hello x" {
\t\tt.Fatal(Greet("x"))
\t}
}
"""
GO = 'package greet\n\nimport "fmt"\n\nfunc Greet(name string) string { return fmt.Sprintf("hello %s", name) }\n'
RUST = """pub fn greet(name: &str) -> String {
    format!("hello {name}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn greets() {
        assert_eq!(super::greet("x"), "hello x");
    }
}
"""
RUST_MAIN = 'fn main() {\n    println!("{}", greet::greet("world"));\n}\n'
NODE_TEST = """const test = require('node:test');
const assert = require('node:assert');
const { greet } = require('./greet');
test('greets', () => assert.strictEqual(greet('x'), 'hello x'));
"""
PYTHON_TEST = """import unittest
from greet import greet

class Greet(unittest.TestCase):
    def test_greets(self):
        self.assertEqual(greet("x"), "hello x")
"""

# name: (programs, files or a folder to copy, commands)
PROJECTS = {
    "C++ with CMake": (
        ["cmake", "g++", "git"], Path("/usr/src/googletest"),
        ["cmake -S . -B build -Dgtest_build_samples=ON -DBUILD_GMOCK=OFF > /dev/null",
         "cmake --build build -j2 --target sample1_unittest sample5_unittest > /dev/null",
         "build/googletest/sample1_unittest && build/googletest/sample5_unittest",
         "echo build/ > .gitignore"]),
    "Rust": (
        ["cargo", "git"],
        {"Cargo.toml": '[package]\nname = "greet"\nversion = "0.1.0"\nedition = "2021"\n',
         "src/lib.rs": RUST, "src/main.rs": RUST_MAIN, ".gitignore": "target/\n"},
        ["cargo build --offline -q", "cargo test --offline -q", "cargo run --offline -q"]),
    "Go": (
        ["go", "git"], {"go.mod": "module example.org/greet\n\ngo 1.19\n", "greet.go": GO,
                        "greet_test.go": GO_TEST},
        ["GOFLAGS=-mod=mod GOPROXY=off go build ./...", "GOPROXY=off go test ./...", "go vet ./..."]),
    "Node": (
        ["node", "git"], {"greet.js": "exports.greet = (name) => `hello ${name}`;\n",
                          "greet.test.js": NODE_TEST,
                          "package.json": '{"name":"greet","version":"1.0.0"}\n'},
        ["node --test", "node -e \"console.log(require('./greet').greet('world'))\""]),
    "Python": (
        ["python3", "git"], {"greet.py": 'def greet(name):\n    return f"hello {name}"\n',
                             "test_greet.py": PYTHON_TEST, ".gitignore": ".venv/\n__pycache__/\n"},
        ["python3 -m venv --without-pip .venv", ".venv/bin/python -m unittest -q",
         "python3 -m compileall -q ."]),
}


def put(files, project):
    if isinstance(files, Path):
        shutil.copytree(files, project, dirs_exist_ok=True)
        return
    for name, text in files.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def git(project, *words):
    return subprocess.run(["git", "-C", project, *words], check=True, capture_output=True,
                          text=True).stdout


def work(holon, top, files, commands):
    """Runs the commands as an agent in a fresh home; what it answered, and the log of the project."""
    project, home = top / "project", top / "holon"
    project.mkdir(parents=True)
    put(files, project)
    git(project, "init", "-q")
    git(project, "-c", "user.name=Op", "-c", "user.email=op@example.org", "commit", "-q",
        "--allow-empty", "-m", "Start")
    line = " && ".join([*commands, COMMIT, "echo all of it worked in $HOLON_SANDBOX"])
    call = {"name": "ExecCommand", "input": {"cmd": line, "yield_time_ms": 600000}}
    scenario = top / "scenario.json"
    scenario.write_text(json.dumps({"rounds": [
        {"tool_calls": [call]},
        {"expect": {"last_result_contains": "all of it worked in confined"}, "text": "Done."}]}),
        encoding="utf-8")
    (home).mkdir()
    (home / "config.json").write_text(json.dumps(
        {"sandbox": {"backend": "bubblewrap", "network": "none"}}), encoding="utf-8")
    environment = os.environ | {"HOLON_HOME": str(home), "HOLON_MODEL": f"scripted/{scenario}",
                                "GIT_AUTHOR_NAME": "Agent", "GIT_AUTHOR_EMAIL": "a@example.org",
                                "GIT_COMMITTER_NAME": "Agent", "GIT_COMMITTER_EMAIL": "a@example.org"}
    run = subprocess.run([holon, "run", "--json", "--agent", "builder", "--create-agent",
                          "--workspace-root", project, "Build, test and commit it."],
                         env=environment, cwd=project, capture_output=True, text=True, check=False)
    return run, git(project, "log", "--format=%s"), git(project, "status", "--short")


def main():
    holon = Path(sys.argv[1]).resolve()
    failed = 0
    # Not below /tmp, which is private inside.
    stage = Path(os.environ.get("HOLON_INTEROP_FOLDER", "build/interop")).resolve()
    stage.mkdir(parents=True, exist_ok=True)
    for name, (programs, files, commands) in PROJECTS.items():
        missing = [program for program in programs if not shutil.which(program)]
        if isinstance(files, Path) and not files.is_dir():
            missing.append(str(files))
        if missing:
            print(f"skip  {name}: not installed: {', '.join(missing)}")
            continue
        with tempfile.TemporaryDirectory(dir=stage) as folder:
            run, log, status = work(holon, Path(folder), files, commands)
        good = run.returncode == 0 and "By an agent" in log and not status
        print(f"{'ok  ' if good else 'FAIL'}  {name}")
        if not good:
            failed += 1
            print(run.stdout[-3000:], run.stderr[-2000:], log, status, sep="\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
