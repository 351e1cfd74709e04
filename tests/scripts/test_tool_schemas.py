"""Every tool publishes the schema of its argument type, never JSON written by hand."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
# The schemas of MCP tools come from their servers.
FOREIGN = ROOT / "src/exec/tools/mcp"
# A few classes serve many tools, each with the schemas that about<Args, Result>() gives it.
VAULT = "src/exec/tools/plan_tools/vault_tool"
# It has the spec of ApplyPatch under another name.
RENAMED = "ShellApplyPatch"

FORWARDED = re.compile(r"std::move\((about\.)?input_schema\)")
TYPED = re.compile(r"base::schema_of<\w+(::\w+)*>\(\)")


def sources():
    """Path -> text without comments, of all code in src/ that may define a tool."""
    found = {}
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cc") or FOREIGN in path.parents:
            continue
        if path.name.endswith(("_test.cc", "_for_test.h")):
            continue
        text = re.sub(r"(?<!:)//.*", "", path.read_text())
        found[str(path.relative_to(ROOT))] = text
    return found


def arguments(text, start):
    """The arguments of the call whose opening parenthesis is at `start`, without their spaces."""
    found, depth, quoted, at = [""], 0, False, start
    while True:
        char = text[at]
        if char == '"' and text[at - 1] != "\\":
            quoted = not quoted
        if not quoted:
            depth += (char in "([{") - (char in ")]}")
            if depth == 0:
                return found
            if char == "," and depth == 1:
                found.append("")
                at += 1
                continue
        if at > start and (quoted or not char.isspace()):
            found[-1] += char
        at += 1


def tool_classes(texts):
    """File -> the final classes of tools in it, their bases in other files included."""
    bases, found = {"Tool"}, {}
    declared = re.compile(r"\b(?:class|struct) (\w+)\s*(final)?\s*:\s*([^{;]*)\{")
    grown = True
    while grown:
        grown = False
        for path, text in texts.items():
            for name, final, listed in declared.findall(text):
                if not bases & {one.split("::")[-1].split()[-1] for one in listed.split(",")}:
                    continue
                if final:
                    found.setdefault(path, set()).add(name)
                elif name not in bases:
                    bases.add(name)
                    grown = True
    return found


def schemas(text, has_spec_of):
    """What each spec in `text` has as its input schema; a forwarded parameter is not listed."""
    found = re.findall(r"\binput_schema\s*=\s*([^,;]+)", text)
    found = [value for value in found if not FORWARDED.match(value)]
    for call in re.finditer(r"(?<!ToolSpec )\bspec_of\(", text) if has_spec_of else ():
        given = arguments(text, call.end() - 1)
        typed = [value for value in given if TYPED.fullmatch(value)]  # Input, then output.
        found.append(typed[0] if len(typed) == 2 else ", ".join(given))
    return found


class ToolSchemas(unittest.TestCase):
    def setUp(self):
        self.texts = sources()

    # contract: SCHEMA-01
    def test_every_input_schema_comes_from_a_type(self):
        offered = 0
        with_spec_of = {
            pathlib.Path(path).parent
            for path, text in self.texts.items()
            if "tools::ToolSpec spec_of(" in text
        }
        for path, names in tool_classes(self.texts).items():
            if path == f"{VAULT}.cc":
                continue
            given = schemas(self.texts[path], pathlib.Path(path).parent in with_spec_of)
            for value in given:
                self.assertRegex(value, rf"^{TYPED.pattern}$", path)
            self.assertEqual(len(given), len(names - {RENAMED}), f"{path}: {names}")
            if "plan_tools" not in path:
                offered += len(given)
        catalogue = (ROOT / "tests/support/catalogue.h").read_text()
        count = re.search(r"std::array<std::string_view, (\d+)> kOfferedTools", catalogue)
        self.assertEqual(offered, int(count[1]), "an offered tool is not checked here")

    # contract: SCHEMA-01
    def test_the_tools_of_the_vault_take_their_schemas_from_types(self):
        self.assertRegex(
            self.texts[f"{VAULT}.h"],
            r"return \{std::move\(name\), std::move\(category\), std::move\(description\), "
            r"base::schema_of<Args>\(\),\s+base::schema_of<Result>\(\)\}",
        )
        made = 0
        for path, text in self.texts.items():
            if "plan_tools" not in path or path in (f"{VAULT}.h", f"{VAULT}.cc"):
                continue
            self.assertNotRegex(text, r"\bAbout\b", path)
            for call in re.finditer(r"\b(?:read|change|compute)_tool\(", text):
                made += 1
                about = ",".join(arguments(text, call.end() - 1)[1:])
                self.assertRegex(about, r"^about<[\w:]+,[\w:]+>\(", path)
        self.assertGreaterEqual(made, 18)

    # contract: SCHEMA-01
    def test_nothing_is_written_into_a_schema_afterwards(self):
        for path, text in self.texts.items():
            self.assertNotRegex(text, r"\binput_schema(\[|\.(insert|emplace|erase))", path)


if __name__ == "__main__":
    unittest.main()
