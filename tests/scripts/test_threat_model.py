"""Checks that docs/threat-model.md names tests that exist and counts the cases that there are."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "threat-model.md"
NAMED = re.compile(r"`([A-Z]\w+)\.([A-Z]\w+)`")
DEFINED = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)


def defined_tests():
    tests = set()
    for folder in ("src", "tests"):
        for file in (ROOT / folder).rglob("*_test.cc"):
            tests.update(DEFINED.findall(file.read_text(encoding="utf-8")))
    return tests


def promises():
    """The rows of the table of promises: (promise, tests)."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.split("## Promised", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")]
    return [(row[1].strip(), NAMED.findall(row[2])) for row in rows[2:]]


def attacks(folder):
    files = [file for file in (ROOT / folder).glob("*.txt") if file.stem != "honest"]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return len(re.findall("^## ", text, re.MULTILINE))


class ThreatModel(unittest.TestCase):
    def test_every_promise_is_shown_by_a_test(self):
        rows = promises()
        self.assertGreater(len(rows), 20)
        self.assertEqual([promise for promise, tests in rows if not tests], [])

    def test_the_named_tests_exist(self):
        defined = defined_tests()
        missing = [test for _, tests in promises() for test in tests if test not in defined]
        self.assertEqual(missing, [])

    def test_the_figures_are_true(self):
        text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
        self.assertIn(f"There are {attacks('tests/attack/cases')} attacks", text)
        self.assertIn(f"{attacks('tests/injection/cases')} that are written down", text)


if __name__ == "__main__":
    unittest.main()
