"""Event kinds are named once, by their payload structs in src/domain/events."""
import pathlib
import re
import unittest

SRC = pathlib.Path(__file__).parents[2] / "src"
EVENTS = SRC / "domain/events"


def kinds():
    """Kind -> name of its payload struct."""
    found = {}
    for header in sorted(EVENTS.glob("*.h")):
        for struct, kind in re.findall(
            r'struct (\w+)[^{;]*\{\s*static constexpr std::string_view kKind = "(\w+)";',
            header.read_text(),
        ):
            found[kind] = struct
    return found


# Also the kind of a ToolError: as that it may be a literal anywhere.
HOMONYMS = {"tool_execution_failed"}


def uses(kind, text):
    """The lines of `text` that hold the kind as a literal; in brackets it names a JSON member."""
    literal = re.compile(rf'(?<!\[)"{kind}"')
    if kind in HOMONYMS:
        literal = re.compile(rf'(event\.kind [!=]= |append\(.*)"{kind}"')
    code = (line.split("//")[0] for line in text.splitlines())
    return [n for n, line in enumerate(code, 1) if literal.search(line)]


class EventKinds(unittest.TestCase):
    def test_structs_are_named_like_their_kinds(self):
        found = kinds()
        self.assertGreaterEqual(len(found), 70)
        for kind, struct in found.items():
            self.assertEqual(re.sub(r"(?<!^)(?=[A-Z])", "_", struct).lower(), kind)

    def test_every_struct_has_a_row_in_the_table(self):
        table = (EVENTS / "kinds.cc").read_text()
        rows = re.findall(r"\bkind<(\w+)>", table)
        self.assertEqual(sorted(rows), sorted(kinds().values()))

    def test_a_literal_is_found(self):
        self.assertEqual(uses("turn_started", 'a\nif (event.kind == "turn_started")'), [2])
        self.assertEqual(uses("turn_started", 'payload["turn_started"] = 1;'), [])
        self.assertEqual(uses("turn_started", 'f("turn_started_late")'), [])
        self.assertEqual(uses("turn_started", '// "turn_started" is not here'), [])
        self.assertEqual(uses("tool_execution_failed", '{.kind = "tool_execution_failed"}'), [])
        self.assertEqual(
            uses("tool_execution_failed", 'if (event.kind == "tool_execution_failed")'), [1]
        )

    def test_no_source_names_a_kind_by_a_literal(self):
        names = kinds()
        stray = []
        for source in sorted(SRC.rglob("*")):
            if source.suffix not in (".cc", ".h") or source.name.endswith("_test.cc"):
                continue
            if source.is_relative_to(EVENTS):
                continue
            text = source.read_text()
            for kind in (name for name in names if f'"{name}"' in text):
                stray += [f"{source.relative_to(SRC)}:{n}: {kind}" for n in uses(kind, text)]
        self.assertEqual(stray, [])


if __name__ == "__main__":
    unittest.main()
