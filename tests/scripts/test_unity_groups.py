"""scripts/unity_groups keeps sources apart whose private names would meet."""
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "unity_groups"


def file_with(names: str, rest: str = "") -> str:
    return f"namespace a {{\nnamespace {{\n\n{names}\n\n}}  // namespace\n{rest}\n}}  // namespace a\n"


class UnityGroups(unittest.TestCase):
    def groups(self, *texts: str, size: int = 8) -> list[int]:
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for index, text in enumerate(texts):
                path = Path(folder) / f"{index}.cc"
                path.write_text(text)
                paths.append(str(path))
            lines = subprocess.run([SCRIPT, str(size), *paths], check=True, capture_output=True,
                                   text=True).stdout.split()
        return [int(line.split("|")[0]) for line in lines]

    def test_sources_without_common_names_share_a_group(self):
        self.assertEqual(self.groups(file_with("int one() {"), file_with("int two() {")), [0, 0])

    def test_the_same_private_name_keeps_sources_apart(self):
        for name in ("int read() {", "constexpr int read = 3;", "struct Page {", "using Page = int;",
                     "const std::map<A, std::vector<B>> kAll{"):
            self.assertEqual(self.groups(file_with(name), file_with("int x;"), file_with(name)),
                             [0, 0, 1], name)

    def test_a_private_type_does_not_hide_one_that_another_source_uses(self):
        self.assertEqual(self.groups(file_with("using Tree = int;"), file_with("int x;", "Tree t;")), [0, 1])

    def test_test_cases_access_words_and_aliases_are_no_names(self):
        common = "using testing::Not;\nTEST(Suite, Case) {\n}\nclass A{0} {{\npublic:\n}};"
        self.assertEqual(self.groups(file_with(common.replace("{0}", "1")), file_with(common.replace("{0}", "2"))),
                         [0, 0])

    def test_a_group_has_a_size(self):
        self.assertEqual(self.groups(*[file_with(f"int f{i}() {{") for i in range(5)], size=2), [0, 0, 1, 1, 2])


if __name__ == "__main__":
    unittest.main()
