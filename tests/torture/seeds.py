#!/usr/bin/env python3
"""Runs many seeds of the simulation, in batches that can be interrupted and continued.

Usage: seeds.py SIM_TESTS [--seeds N] [--batch N] [--jobs N] [--state FILE]

SIM_TESTS is the built sim_tests. The state file holds one line for each batch that is done; a batch
that was cut off is run again. Exit code 1 when a seed violated an invariant; the line of its batch
names it.
"""
import argparse, concurrent.futures, os, re, subprocess, sys

TEST = "*ManyCrashesInARowLoseNothing*"


def done_batches(path):
    if not os.path.exists(path):
        return {}
    done = {}
    for line in open(path, encoding="utf-8"):
        words = line.split(maxsplit=2)
        if len(words) >= 2 and line.endswith("\n"):
            done[int(words[0])] = words[1] if len(words) == 2 else f"{words[1]} {words[2].strip()}"
    return done


def run(program, first, count):
    environment = dict(os.environ, HOLON_SIM_SEEDS=str(count), HOLON_SIM_FIRST_SEED=str(first))
    ended = subprocess.run([program, f"--gtest_filter={TEST}", "--gtest_brief=1"], env=environment,
                           capture_output=True, text=True)
    if ended.returncode == 0 and "PASSED" in ended.stdout:
        return "held"
    seeds = sorted(set(re.findall(r"seed (\d+)", ended.stdout)), key=int)
    return "violated " + (" ".join(seeds) or f"exit {ended.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--state", default="build/sim-seeds.txt")
    options = parser.parse_args()
    done = done_batches(options.state)
    firsts = [first for first in range(1, options.seeds + 1, options.batch) if first not in done]
    with open(options.state, "a", encoding="utf-8") as state, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(run, options.program, first,
                            min(options.batch, options.seeds + 1 - first)): first
                for first in firsts}
        try:
            for ended in concurrent.futures.as_completed(runs):
                done[runs[ended]] = ended.result()
                state.write(f"{runs[ended]} {ended.result()}\n")
                state.flush()
                if ended.result() != "held":
                    print(f"batch from seed {runs[ended]}: {ended.result()}", flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    violated = [first for first, outcome in done.items() if outcome != "held"]
    held = len(done) - len(violated)
    print(f"{min(held * options.batch, options.seeds)} of {options.seeds} seeds held, "
          f"{len(violated)} batches violated")
    return 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
