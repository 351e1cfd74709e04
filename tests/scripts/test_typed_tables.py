"""scripts/typed_tables finds the described types, and writes only what changed."""
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class TypedTables(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "turn.h"
        self.file.write_text("namespace domain {\nBOOST_DESCRIBE_STRUCT(Turn, (), (id))\n}\n"
                             "namespace domain::events {\nBOOST_DESCRIBE_ENUM(Kind, A, B)\n"
                             "BOOST_DESCRIBE_STRUCT(\n    Long, (), (id))\n}\n")

    def make(self):
        header, source = self.folder / "out/tables.h", self.folder / "out/tables.cc"
        subprocess.run([ROOT / "scripts/typed_tables", header, source, self.file], check=True)
        return header, source

    def test_each_described_type_has_one_table(self):
        header, source = (path.read_text() for path in self.make())
        for name in ("domain::Turn", "domain::events::Kind", "domain::events::Long"):
            table = f"template const base::typed::Type& base::typed::type_of<{name}>();\n"
            self.assertIn("\nextern " + table, header)
            self.assertIn("\n" + table, source)
        self.assertIn(f'#include "{self.file}"', header)

    def test_what_did_not_change_is_not_written(self):
        before = [path.stat().st_mtime_ns for path in self.make()]
        self.assertEqual([path.stat().st_mtime_ns for path in self.make()], before)


if __name__ == "__main__":
    unittest.main()
