#!/usr/bin/env python3
"""Tortures the built program and prints a table. Usage: torture.py PROGRAM [--only PART,...]
[--kills N] [--plans N] [--damage N] [--disk N] [--clock N] [--load SECONDS] [--seed N] [--set-clock] [--keep]

Parts: kills, plans, damage, disk, clock, load. Each makes homes of its own in a temporary folder, runs the
real daemon with a scripted model, harms it, and then checks what was promised. Exit code 1 when
anything was violated. A part that this machine cannot run says so and counts as not run.
"""
import argparse, collections, http.client, json, os, random, shutil, signal, socket, sqlite3
import subprocess, sys, tempfile, time

import plan_writes

WAIT_SECONDS = 120
ROUNDS = 4          # Of a turn, the last one without a call.
AGENTS = 6
SOCKETS = ("holon.sock", "control")


class Violation(Exception):
    pass


def await_that(holds, what, seconds=WAIT_SECONDS):
    until = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > until:
            raise Violation(f"waited {seconds} s in vain for {what}")
        time.sleep(0.02)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Home:
    """A home, its daemon and its scripted models."""
    all = []

    def __init__(self, program, folder):
        Home.all.append(self)
        self.program, self.folder, self.daemon = program, folder, None
        self.work = f"{folder}/work"
        os.makedirs(self.work)
        self.models = f"{folder}/models"
        os.makedirs(self.models)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.path = f"{folder}/home"
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder, "HOLON_HOME": self.path,
                            "HOLON_HTTP_ADDR": f"127.0.0.1:{self.port}"}
        self.play([{"text": "Done."}])

    def play(self, rounds):
        with open(f"{self.models}/model.json", "w") as file:
            json.dump({"rounds": rounds}, file)
        self.environment["HOLON_MODEL"] = f"scripted/{self.models}/model.json"

    def run(self, *words, check=True, seconds=60):
        done = subprocess.run([self.program, *words], env=self.environment, cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds)
        if check and done.returncode:
            raise Violation(f"holon {' '.join(words)} ended with {done.returncode}: "
                            f"{done.stderr.strip()[-300:]}")
        return done

    def start(self, preload=None):
        environment = dict(self.environment, **(preload or {}))
        self.log = open(f"{self.folder}/serve.log", "ab")
        self.daemon = subprocess.Popen([self.program, "serve"], env=environment, cwd=self.work,
                                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def await_ready(self):
        await_that(lambda: self.daemon.poll() is not None or self.get("/healthz")[0] == 200,
                   "the daemon")
        if self.daemon.poll() is not None:
            tail = open(f"{self.folder}/serve.log", errors="replace").read()[-400:]
            raise Violation(f"the daemon ended with {self.daemon.returncode}: {tail}")

    def kill(self):
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()

    def stop(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            try:
                self.daemon.wait(40)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Violation("SIGTERM did not end the daemon within 40 s")

    def ask(self, method, path, body=None):
        connection = UnixConnection(f"{self.path}/run/holon.sock")
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read()
            try:
                return answer.status, json.loads(data) if data else None
            except json.JSONDecodeError:
                return answer.status, data.decode(errors="replace")
        except OSError:
            return 0, None
        except http.client.HTTPException:
            return 0, None
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", path)

    def database(self):
        database = sqlite3.connect(f"{self.path}/holon.db", timeout=30)
        database.execute("pragma busy_timeout = 30000")
        return database

    def terminal_turns(self, agent):
        done = self.run("events", "--agent", agent, "--limit", "100000", check=False)
        return sum('"turn_terminal"' in line for line in done.stdout.splitlines())

    def orphans(self):
        """Processes of this home that are left: their environment or command line names it."""
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                line = open(f"/proc/{pid}/cmdline", "rb").read()
                if self.folder.encode() in line and int(pid) != os.getpid():
                    left.append((int(pid), line.replace(b"\0", b" ").decode(errors="replace")))
            except OSError:
                pass
        return left


def ledger_rounds(folder):
    """Each round appends one line to a file; a line says that its command really ran."""
    rounds = [{"text": "I note it.", "tool_calls": [
        {"name": "ExecCommand", "input": {"login": False, "cmd":
         f"echo $$ >> {folder}/ledger.$(basename $PWD).{number}; sleep 0.0{number}"}}]}
        for number in range(1, ROUNDS)]
    return rounds + [{"text": "All noted."}]


def check_gapless(home, tally):
    database = home.database()
    for agent, low, high, count in database.execute(
            "select agent_id, min(event_seq), max(event_seq), count(*) from events group by agent_id"):
        tally["events"] += count
        if high - low + 1 != count:
            raise Violation(f"the events of {agent} have a gap: {low} to {high}, but {count}")
    (verdict,) = database.execute("pragma integrity_check").fetchone()
    database.close()
    if verdict != "ok":
        raise Violation(f"the database is damaged: {verdict}")


def statuses(home, agent):
    database = home.database()
    rows = [row[0] for row in database.execute(
        "select status from queue_entries where agent_id = ?", (agent,))]
    database.close()
    return rows


def is_idle(home, agent):
    return not set(statuses(home, agent)) & {"queued", "claimed", "interrupted"}


def kills(options, folder, tally):
    home = Home(options.program, folder)
    home.play(ledger_rounds(home.work))
    home.start()
    home.await_ready()
    names = [f"agent{number}" for number in range(AGENTS)]
    for name in names:
        home.run("agent", "create", name)
    accepted = collections.Counter()
    for _ in range(options.kills):
        name = random.choice(names)
        status, _ = home.ask("POST", f"/control/agents/{name}/prompt", {"text": "go"})
        if status in (200, 202):
            accepted[name] += 1
        time.sleep(random.random() * 0.15)
        home.kill()
        tally["runs"] += 1
        home.start()
        if random.random() < 0.7:
            home.await_ready()
        else:
            await_that(lambda: home.get("/healthz")[0] == 200 or random.random() < 0.1, "a moment")
    home.await_ready()
    for name in names:
        await_that(lambda: is_idle(home, name), f"the messages of {name}: {statuses(home, name)}")
        if len(statuses(home, name)) < accepted[name]:
            raise Violation(f"{name} accepted {accepted[name]} messages and has {statuses(home, name)}")
    home.stop()
    check_gapless(home, tally)
    for name in names:
        if "dropped" in statuses(home, name):
            raise Violation(f"an accepted message of {name} was given up")
    await_that(lambda: not home.orphans(), f"no process left: {home.orphans()}", 20)
    tasks = f"{home.path}/run/tasks"
    left = os.listdir(tasks) if os.path.isdir(tasks) else []
    tally["note"] = f"{sum(accepted.values())} messages, {tally['events']} events, {len(left)} task folders left"


# The column that holds what a row is about, where it is not `record`.
COLUMNS = {"frames": "frame", "bodies": "body", "outbox": "payload"}
DAMAGES = [
    ("a row that is not JSON", "update {table} set {column} = '{{broken' where rowid = ?"),
    ("an empty row", "update {table} set {column} = '' where rowid = ?"),
    ("a row of another shape", "update {table} set {column} = '{{\"id\": 7}}' where rowid = ?"),
    ("a missing row", "delete from {table} where rowid = ?"),
]


def damaged_home(options, folder):
    """A home whose daemon was killed in the middle of six commands, with messages in line."""
    home = Home(options.program, folder)
    home.play([{"text": "I wait.", "tool_calls": [{"name": "ExecCommand", "input": {
        "login": False, "cmd": "sleep 1"}}]}, {"text": "Done."}])
    home.start()
    home.await_ready()
    for number in range(AGENTS):
        home.run("agent", "create", f"agent{number}")
        home.ask("POST", f"/control/agents/agent{number}/timers",
                 {"duration_ms": 3_600_000, "summary": "later"})
        for _ in range(3):
            home.ask("POST", f"/control/agents/agent{number}/prompt", {"text": "go"})
    time.sleep(0.5)
    home.kill()
    return home


def damage(options, folder, tally):
    source = damaged_home(options, f"{folder}/source")
    for number in range(options.damage):
        copy = f"{folder}/{number}"
        home = Home(options.program, copy)
        shutil.rmtree(home.path, ignore_errors=True)
        shutil.copytree(source.path, home.path, symlinks=True,
                        ignore=lambda _, names: [name for name in names if name in SOCKETS])
        home.environment["HOLON_MODEL"] = source.environment["HOLON_MODEL"]
        database = home.database()
        tables = [row[0] for row in database.execute(
            "select name from sqlite_master where type = 'table' and sql like '%record%'")
            if row[0] != "sqlite_sequence"] + list(COLUMNS)
        table = random.choice([name for name in tables if database.execute(
            f"select count(*) from {name}").fetchone()[0]])
        what, change = random.choice(DAMAGES)
        (row,) = random.choice(database.execute(f"select rowid from {table}").fetchall())
        column = COLUMNS.get(table, "record")
        database.execute(change.format(table=table, column=column), (row,))
        database.commit()
        database.close()
        case = f"{what} in {table}"
        tally["runs"] += 1
        try:
            one_damage(home, case)
        except Violation as violation:
            tally["violations"].append(f"{case}: {violation}")
        finally:
            if home.daemon and home.daemon.poll() is None:
                home.kill()
        shutil.rmtree(copy, ignore_errors=True)
    for pid, _ in source.orphans():
        os.kill(pid, signal.SIGKILL)


def one_damage(home, case):
    home.start()
    home.await_ready()
    healthy = 0
    for number in range(AGENTS):
        agent = f"agent{number}"
        before = home.terminal_turns(agent)
        status, _ = home.ask("POST", f"/control/agents/{agent}/prompt", {"text": "again"})
        try:
            if status in (200, 202):
                await_that(lambda: home.terminal_turns(agent) > before, "a turn", 30)
                healthy += 1
        except Violation:
            pass
    if home.daemon.poll() is not None:
        raise Violation(f"the daemon ended with {home.daemon.returncode}")
    if healthy < AGENTS - 1:
        raise Violation(f"only {healthy} of {AGENTS} agents work")
    if home.run("status", "--agent", "agent0", check=False).returncode > 1 and healthy == AGENTS:
        raise Violation("status fails although every agent works")
    lost = sum(statuses(home, f"agent{number}").count("dropped") for number in range(AGENTS))
    if lost > 1:
        raise Violation(f"{lost} accepted messages were given up")
    if home.get("/agents/list")[0] != 200:
        raise Violation(f"/agents/list answers {home.get('/agents/list')[0]}")
    home.stop()


def disk(options, folder, tally):
    if os.geteuid() != 0:
        raise RuntimeError("needs root to mount a small file system")
    for number in range(options.disk):
        place = f"{folder}/{number}"
        os.makedirs(place)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "torture", place],
                          capture_output=True).returncode:
            raise RuntimeError("cannot mount a small file system here")
        try:
            one_full_disk(Home(options.program, f"{place}/h"), place)
            tally["runs"] += 1
        finally:
            subprocess.run(["umount", "-l", place])


def one_full_disk(home, place):
    home.play(ledger_rounds(home.work))
    home.start()
    home.await_ready()
    home.run("agent", "create", "full")
    accepted = 0
    for _ in range(3):
        accepted += home.ask("POST", "/control/agents/full/prompt", {"text": "go"})[0] in (200, 202)
    time.sleep(random.random() * 0.3)
    with open(f"{place}/filler", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 65536)
        except OSError:
            pass
    for _ in range(5):
        accepted += home.ask("POST", "/control/agents/full/prompt", {"text": "go"})[0] in (200, 202)
    refused = home.ask("POST", "/control/agents/full/prompt", {"text": "x"})[0]
    accepted += refused in (200, 202)
    if refused >= 500 and home.get("/readyz")[0] == 200:
        raise Violation(f"/readyz is 200 right after a write failed with {refused}")
    os.remove(f"{place}/filler")
    if home.daemon.poll() is not None:
        raise Violation(f"the daemon ended with {home.daemon.returncode} on a full disk")
    await_that(lambda: is_idle(home, "full"), "the end of the work after room came")
    if len(statuses(home, "full")) < accepted or "dropped" in statuses(home, "full"):
        raise Violation(f"{accepted} messages were accepted: {statuses(home, 'full')}")
    await_that(lambda: home.get("/readyz")[0] == 200, "/readyz after room came")
    home.stop()


class Clock:
    """Sets the machine's clock, and right again at the end: by the clock that nobody can set."""

    def __enter__(self):
        self.offset = time.time() - time.monotonic()
        return self

    def shift(self, seconds):
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + self.offset + seconds)

    def __exit__(self, *_):
        self.shift(0)


def clock(options, folder, tally):
    if not options.set_clock:
        raise RuntimeError("sets the clock of the machine; allow it with --set-clock, as root")
    hour, year = 3600, 365 * 86400
    cases = [("set forward", [hour]), ("set back", [-hour]), ("set back and right", [-hour, 0]),
             ("ten years back", [-10 * year]), ("ten years on", [10 * year]), ("a day on", [86400])]
    for number in range(options.clock):
        what, shifts = cases[number % len(cases)]
        home = Home(options.program, f"{folder}/{number}")
        home.start()
        home.await_ready()
        home.run("agent", "create", "timed")
        tally["runs"] += 1
        with Clock() as machine:
            for shift in shifts:
                machine.shift(shift)
                time.sleep(0.2)
            home.ask("POST", "/control/agents/timed/timers", {"duration_ms": 1000, "summary": "soon"})
            try:
                await_that(lambda: home.terminal_turns("timed") >= 1, f"a timer, clock {what}", 30)
            except Violation as violation:
                tally["violations"].append(str(violation))
        home.stop()


def resident(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1])


def load(options, folder, tally):
    home = Home(options.program, folder)
    home.play([{"text": "I look.", "tool_calls": [{"name": "ExecCommand", "input": {
        "login": False, "cmd": "true"}}]}, {"text": "Done."}])
    home.start()
    home.await_ready()
    names = [f"agent{number}" for number in range(20)]
    for name in names:
        home.run("agent", "create", name)
    accepted, begin, samples = collections.Counter(), time.monotonic(), []
    while time.monotonic() - begin < options.load:
        name = random.choice(names)
        status, _ = home.ask("POST", f"/control/agents/{name}/prompt", {"text": "go"})
        if status in (200, 202):
            accepted[name] += 1
        elif status not in (429, 503):
            raise Violation(f"a prompt was answered with {status}")
        if len(samples) < (time.monotonic() - begin) / options.load * 20:
            samples.append(resident(home.daemon.pid))
        time.sleep(0.005)
    for name in names:
        await_that(lambda: is_idle(home, name), f"the messages of {name}", 300)
    database = home.database()
    done = collections.Counter(row[0] for row in database.execute("select status from queue_entries"))
    database.close()
    check_gapless(home, tally)
    early, late = sorted(samples[5:10])[2], sorted(samples[-5:])[2]
    if late > early * 1.5 + 20_000:
        raise Violation(f"memory grew from {early} to {late} kB")
    tally["runs"] = sum(accepted.values())
    tally["note"] = f"messages {dict(done)}, memory {early} to {late} kB"
    home.stop()


def plans(options, folder, tally):
    plan_writes.plans(options, folder, tally, Home)


PARTS = {"kills": kills, "plans": plans, "damage": damage, "disk": disk, "clock": clock, "load": load}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", default=",".join(PARTS))
    for name, default in (("kills", 300), ("plans", 100), ("damage", 50), ("disk", 10), ("clock", 6),
                          ("load", 300)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--set-clock", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    random.seed(options.seed)
    folder = tempfile.mkdtemp(prefix="holon-torture.")
    print(f"seed {options.seed}, folder {folder}")
    print(f"{'part':8} {'runs':>7} {'violations':>11} {'seconds':>8}  note")
    violated = False
    for part in options.only.split(","):
        tally = {"runs": 0, "violations": [], "events": 0, "note": ""}
        begin = time.monotonic()
        try:
            os.makedirs(f"{folder}/{part}")
            PARTS[part](options, f"{folder}/{part}/h", tally)
        except Violation as violation:
            tally["violations"].append(str(violation))
        except RuntimeError as reason:
            tally["note"] = f"not run: {reason}"
        finally:
            for home in Home.all:
                if home.daemon and home.daemon.poll() is None:
                    home.kill()
            Home.all.clear()
        print(f"{part:8} {tally['runs']:7} {len(tally['violations']):11} "
              f"{time.monotonic() - begin:8.0f}  {tally['note']}", flush=True)
        for text in tally["violations"]:
            violated = True
            print(f"         {text}", flush=True)
    if not options.keep and not violated:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(violated)


if __name__ == "__main__":
    main()
