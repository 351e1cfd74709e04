"""A skipped test is a failure in CI: every skip goes through the one switch for that."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
SWITCH = ROOT / "tests/support/skip.h"


def sources():
    for folder in ("src", "tests", "bench"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".cc", ".h", ".py") and file != pathlib.Path(__file__):
                yield file


class Skips(unittest.TestCase):
    def test_no_test_skips_by_itself(self):
        named = [f"{file.relative_to(ROOT)}: {found[0]}"
                 for file in sources() if file != SWITCH
                 for found in re.finditer(r"GTEST_SKIP\(|unittest\.skip|skipTest\(|SkipTest|\bDISABLED_",
                                          file.read_text())]
        self.assertEqual(named, [])

    def test_ci_sets_the_switch(self):
        self.assertRegex((ROOT / ".ci/run").read_text(), r"(?m)^export HOLON_NO_SKIPS=1$")
        self.assertIn('"HOLON_NO_SKIPS"', SWITCH.read_text())


if __name__ == "__main__":
    unittest.main()
