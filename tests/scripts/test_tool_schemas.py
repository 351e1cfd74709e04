"""Built-in tools publish the schemas of their argument types, never JSON written by hand."""
import pathlib
import re
import unittest

BUILTIN = pathlib.Path(__file__).parents[2] / "src/exec/tools/builtin"


class ToolSchemas(unittest.TestCase):
    # contract: SCHEMA-01
    def test_every_input_schema_comes_from_a_type(self):
        tools, schemas = [], []
        for source in sorted(BUILTIN.rglob("*.cc")):
            if source.name.endswith("_test.cc"):
                continue
            text = source.read_text()
            tools += re.findall(r"class \w+ (?:final )?: public tools::Tool\b", text)
            for value in re.findall(r"\binput_schema\s*=\s*([^,;]+)", text):
                schemas.append(value)
                self.assertRegex(value, r"^base::schema_of<\w+>\(\)$", source.name)
        self.assertGreaterEqual(len(schemas), 12)
        self.assertEqual(len(schemas), len(tools), "each tool has one schema")


if __name__ == "__main__":
    unittest.main()
