"""Tests wait for what they need, never for a time: a sleep is a guess about the machine's speed."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
# The one place that may pause between two looks.
WAIT = ROOT / "tests/support/eventually.h"
SLEEP = r"\bsleep_for\(|\bsleep_until\(|\busleep\(|\bnanosleep\(|(?<!\w)::sleep\("


def tests():
    yield from (file for file in sorted((ROOT / "tests").rglob("*")) if file.suffix in (".cc", ".h"))
    yield from sorted((ROOT / "src").rglob("*_test.cc"))


class Waits(unittest.TestCase):
    # contract: TASK-35
    def test_no_test_sleeps_to_be_in_time(self):
        named = [f"{file.relative_to(ROOT)}: {found[0]}" for file in tests() if file != WAIT
                 for found in re.finditer(SLEEP, file.read_text())]
        self.assertEqual(named, [])


if __name__ == "__main__":
    unittest.main()
