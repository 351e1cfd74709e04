"""Plans that write are killed at random moments: each is then resumed, checked and reverted."""
import json, os, random, signal, subprocess, time

FILES = 500
PLAN = {
    "version": "1.0", "goal": "Write", "riskLevel": "writes",
    "steps": [
        {"id": "c", "tool": "vault.createFile",
         "foreach": {"from": "$vars.params.items", "itemName": "n", "concurrency": 4},
         "args": {"path": "new/{n}/n.md", "content": "note {n}\n"}},
        {"id": "a", "tool": "vault.writeFile",
         "foreach": {"from": "$vars.params.items", "itemName": "n", "concurrency": 4},
         "args": {"path": "log.md", "content": "line {n}\n", "mode": "append"}}]}


def tree(vault):
    """Every file with its content, and every empty folder."""
    found = {}
    for path, folders, files in os.walk(vault):
        for name in files:
            with open(f"{path}/{name}", "rb") as file:
                found[os.path.relpath(f"{path}/{name}", vault)] = file.read()
        if not folders and not files and path != vault:
            found[os.path.relpath(path, vault) + "/"] = b""
    return found


def expected():
    wanted = {f"new/{n}/n.md": f"note {n}\n".encode() for n in range(FILES)}
    wanted["old.md"] = b"old\n"
    return wanted


def stored_runs(home):
    return json.loads(home.run("plan", "list", "--json").stdout)


def newest_run(home):
    """Its id. The list has the newest runs only, so its length says nothing."""
    return next((run["runId"] for run in stored_runs(home)), None)


def approve_what_waits(home):
    """A process that died between storing a run and its approval by --yes left one that waits."""
    for run in stored_runs(home):
        if run["status"] == "awaiting_approval":
            home.run("plan", "approve", run["runId"])


def one_plan(home, vault, kills):
    """Runs the plan to its end through at most `kills` kills. Returns what is wrong, and the kills."""
    with open(f"{vault}/old.md", "w") as file:
        file.write("old\n")
    with open(f"{vault}/log.md", "w") as file:
        file.write("log\n")
    before = tree(vault)
    items = json.dumps([str(n) for n in range(FILES)])
    words = ["plan", "run", f"{home.folder}/plan.json", "--vault", vault, "--param",
             f"items={items}", "--yes", "--json"]
    newest = newest_run(home)
    killed = 0
    while True:
        process = subprocess.Popen([home.program, *words], env=home.environment, cwd=home.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        if killed < kills:
            time.sleep(random.uniform(0.05, 1.0))
            process.send_signal(signal.SIGKILL)
        errors = process.communicate()[1]
        if process.returncode != -signal.SIGKILL:
            break
        killed += 1
        # A process that died before it had stored the run left nothing to resume.
        if words[1] == "run" and newest_run(home) != newest:
            approve_what_waits(home)
            words = ["plan", "resume", "last", "--json"]
    wrong = []
    # A kill after the last commit leaves a run that has succeeded; the vault is judged all the same.
    if process.returncode and b"has succeeded" not in errors:
        wrong.append(f"the run ended with {process.returncode}: {errors.decode()[-300:]}")
    after = tree(vault)
    lines = sorted(after.pop("log.md", b"").decode().splitlines())
    if lines != sorted(["log"] + [f"line {n}" for n in range(FILES)]):
        wrong.append(f"log.md has {len(lines)} lines, {len(set(lines))} different ones")
    if after != expected():
        odd = sorted(set(after) ^ set(expected()))[:5]
        wrong.append(f"the vault has or lacks {odd}")
    reverted = home.run("plan", "revert", "last", "--yes", check=False, seconds=600)
    if reverted.returncode or tree(vault) != before:
        odd = sorted(set(tree(vault)) ^ set(before))[:5]
        wrong.append(f"revert ended with {reverted.returncode} and left {odd}: "
                     f"{reverted.stdout[-300:]}")
    return wrong, killed


def plans(options, folder, tally, make_home):
    home = make_home(options.program, folder)
    with open(f"{home.folder}/plan.json", "w") as file:
        json.dump(PLAN, file)
    reverts = 0
    while tally["runs"] < options.plans:
        vault = f"{home.folder}/vault-{reverts}"
        os.makedirs(vault)
        wrong, killed = one_plan(home, vault, min(10, options.plans - tally["runs"]))
        tally["runs"] += max(killed, 1)
        tally["violations"] += wrong
        reverts += 1
    tally["note"] = f"{reverts} plans of {2 * FILES} writes completed and reverted"
