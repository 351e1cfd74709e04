"""Built-in tools publish the schemas of their argument types, never JSON written by hand."""
import pathlib
import re
import unittest

BUILTIN = pathlib.Path(__file__).parents[2] / "src/exec/tools/builtin"


class ToolSchemas(unittest.TestCase):
    # contract: SCHEMA-01
    def test_every_input_schema_comes_from_a_type(self):
        found = 0
        for source in sorted(BUILTIN.glob("*.cc")):
            if source.name.endswith("_test.cc"):
                continue
            for value in re.findall(r"\.input_schema\s*=\s*([^,]+),", source.read_text()):
                found += 1
                self.assertRegex(value, r"^base::schema_of<\w+>\(\)$", source.name)
        self.assertGreaterEqual(found, 6)


if __name__ == "__main__":
    unittest.main()
