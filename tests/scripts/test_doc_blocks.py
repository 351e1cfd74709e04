"""The code blocks of the README and the guides: which are run, and how shown output is compared."""
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
import blocks  # noqa: E402

# Blocks that need a package manager, root, or something that only the reader has.
NOT_RUN_MAX = 12
# Lines of code that are indented instead of fenced would not be run.
PROGRAMS = ("holon ", "curl ", "make ", "git ", "$ ")


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class Pages(unittest.TestCase):
    def test_every_block_says_what_it_is(self):
        known = (*blocks.COMMANDS, *blocks.OTHERS)
        strange = [
            f"{page.name}:{block.line}: {block.language or 'no language'}"
            for page in pages()
            for block in blocks.blocks(page.read_text(encoding="utf-8"))
            if block.language not in known
        ]
        self.assertEqual(strange, [])

    def test_few_blocks_are_not_run_and_each_says_why(self):
        kept_out = [
            f"{page.relative_to(ROOT)}:{block.line}: {block.reason}"
            for page in pages()
            for block in blocks.blocks(page.read_text(encoding="utf-8"))
            if block.reason
        ]
        self.assertLessEqual(len(kept_out), NOT_RUN_MAX, kept_out)
        for page in pages():
            text = page.read_text(encoding="utf-8")
            self.assertEqual(
                text.count(blocks.NOT_RUN),
                sum(line.startswith(f"{page.relative_to(ROOT)}:") for line in kept_out),
                page.name,
            )

    def test_no_command_hides_in_an_indented_block(self):
        hidden = []
        for page in pages():
            before, fenced = "", False
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
                fenced ^= blocks.FENCE.match(line) is not None
                indented = line.startswith("    ") and line.strip().startswith(PROGRAMS)
                if indented and not fenced and not before.strip():
                    hidden.append(f"{page.name}:{number}")
                before = line
        self.assertEqual(hidden, [])


class Blocks(unittest.TestCase):
    def test_a_block_has_its_language_its_reason_and_its_lines(self):
        text = "a\n```sh no-test: needs a key\nholon login\n```\n\n<!-- setup: true -->\n```\nx\n```\n"
        found = blocks.blocks(text)
        self.assertEqual(
            [(block.language, block.reason, block.lines) for block in found],
            [("sh", "needs a key", ["holon login"]), ("setup", "", ["true"]), ("", "", ["x"])],
        )
        with self.assertRaises(ValueError):
            blocks.blocks("```sh\nholon")

    def test_a_console_block_is_commands_with_their_output(self):
        block = blocks.Block(5, "console", "", ["$ a \\", "> b", "out", "$ false", "$ echo $?", "1"])
        self.assertEqual(
            blocks.steps(block),
            [
                blocks.Step(6, "a \\\nb", ["out"]),
                blocks.Step(9, "false", [], may_fail=True),
                blocks.Step(10, "echo $?", ["1"]),
            ],
        )

    def test_a_screen_has_what_was_drawn_last(self):
        drawn = "\x1b[2m* thinking\x1b[0m\r\x1b[2K\x1b[32mdone\x1b[0m  \r\n\r\n"
        self.assertEqual(blocks.screen(drawn), ["done"])

    def test_shown_lines_are_in_the_output_together_and_in_order(self):
        real = ["WARNING", "one", "two 0.3s", "three", "four"]
        self.assertIsNone(blocks.differs([], real))
        self.assertIsNone(blocks.differs(["one", "two …"], real))
        self.assertIsNone(blocks.differs(["...", "one", "...", "four"], real))
        self.assertEqual(blocks.differs(["one", "three"], real), "three")
        self.assertEqual(blocks.differs(["three", "...", "one"], real), "one")
        self.assertEqual(blocks.differs(["five"], real), "five")


if __name__ == "__main__":
    unittest.main()
