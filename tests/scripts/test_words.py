"""The words that people and models read: an external trigger is never called a callback."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Names that are fixed elsewhere: routes, enumerators, variables, members of records.
LITERAL = re.compile(r"`[^`]*`|/callbacks/\S*|\b\w*_callback\w*|\bcallback_\w+|\"callback\"", re.I)
# What C++ sources show: their string literals.
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def prose(text):
    return LITERAL.sub("", text)


class Words(unittest.TestCase):
    # contract: CORE-01, TRIG-02
    def test_documents_say_external_trigger_and_not_callback(self):
        said = ""
        for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            text = document.read_text(encoding="utf-8")
            self.assertNotIn("callback", prose(text).lower(), document.name)
            said += text.lower()
        self.assertIn("trigger", said)

    # contract: CORE-01, TRIG-02
    def test_what_models_and_operators_are_shown_says_so_too(self):
        shown = ""
        for folder in ["agent/context", "surfaces/cli", "exec/tools", "service/views"]:
            for source in sorted((ROOT / "src" / folder).rglob("*")):
                if source.suffix not in (".h", ".cc") or source.stem.endswith("_test"):
                    continue
                for literal in STRING.findall(source.read_text(encoding="utf-8")):
                    # A word among words, and no name of an event, a member or a header.
                    if " " in literal:
                        self.assertNotIn("callback", prose(literal).lower(), source)
                    shown += literal.lower() + "\n"
        self.assertIn("external trigger", shown)


if __name__ == "__main__":
    unittest.main()
