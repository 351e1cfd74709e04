"""The picture of the README: small, without a path of a machine, and how scripts/picture draws it."""
import importlib.machinery
import importlib.util
import re
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"


def script():
    loader = importlib.machinery.SourceFileLoader("picture", str(ROOT / "scripts" / "picture"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("picture", loader))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


class Picture(unittest.TestCase):
    def test_the_stored_one_is_small_and_of_no_machine(self):
        text = PICTURE.read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), script().BYTES_MAX)
        shown = "".join(xml.etree.ElementTree.fromstring(text).itertext())
        self.assertIn("holon run --resume", shown)
        self.assertIsNone(re.search(r"/(tmp|home|root|work|usr)\b", shown))
        self.assertNotIn("WARNING", shown)

    def test_only_the_chosen_parts_are_drawn_without_the_temporary_folder(self):
        part = f"\x1b[1m== {script().PARTS[0]} ==\x1b[0m"
        lines = [(0, "before"), (1, part), (2, "in /tmp/holon-demo.x1Y/repo"), (3, "== Other =="),
                 (4, "after")]  # fmt: skip
        self.assertEqual(script().chosen(lines), [(1, part), (2, "in ~/repo")])

    def test_what_was_drawn_over_is_left_out(self):
        pieces = [(0.1, b"* thin"), (0.2, b"king\r\x1b[2Kdone\r\nne"), (0.3, b"xt\n")]
        self.assertEqual(script().lines_of(pieces), [(0.2, "done"), (0.3, "next")])

    def test_long_lines_are_broken_at_blanks_and_keep_their_colours(self):
        words = "word " * 30
        rows = script().wrapped(f"\x1b[32m{words}\x1b[0mend")
        self.assertEqual([len(row) for row in rows], [1, 2])
        self.assertEqual(rows[0][0][0], "g")
        self.assertTrue(rows[0][0][1].endswith("word"))
        self.assertEqual(rows[1][1], ("", "end"))

    def test_text_is_escaped(self):
        drawn = script().svg([(0, "a < b & c"), (1, "")])
        self.assertIn("a &lt; b &amp; c", drawn)
        xml.etree.ElementTree.fromstring(drawn)


if __name__ == "__main__":
    unittest.main()
