"""Checks that the documents name files that exist, and that folders and READMEs are small."""
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

README_LINES_MAX = 20
FOLDER_FILES_MAX = 25

# Folders of data, one file per case: there may be any number of them.
DATA_FOLDER = "cases"

# A path in backticks: it has a slash, an extension of a source or a document, and no placeholder.
PATH = re.compile(r"`([\w.*/-]+/[\w.*-]+\.(?:cc|h|md|py|sh|json|txt|service))`")


def tracked(root, *folders):
    """The files that git knows below `folders`, relative to `root`, without deleted ones."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *folders], cwd=root, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [Path(name) for name in listed if (root / name).is_file()]


def documents(root):
    """READMEs of all folders, ARCHITECTURE.md and the guides."""
    return [
        file
        for file in tracked(root)
        if file.name in ("README.md", "ARCHITECTURE.md")
        or (file.parts[0] == "docs" and file.suffix == ".md")
    ]


def missing_paths(root, document):
    """Paths that `document` names and that exist neither next to it nor below src/ nor the root."""
    text = (root / document).read_text(encoding="utf-8")
    places = (root / document.parent, root / "src", root)
    return [
        f"{document}: {path}"
        for path in PATH.findall(text)
        if not path.startswith("/") and not any(any(place.glob(path)) for place in places)
    ]


# [text](target#anchor), but neither an address nor a picture of another site.
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([\w-]+))?\)")


def anchors(text):
    """What a link may name in a page: its headings, as the usual viewers spell them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(root, document):
    """Links of `document` to files or headings that do not exist."""
    broken = []
    text = (root / document).read_text(encoding="utf-8")
    for target, anchor in LINK.findall(text):
        file = root / document.parent / target if target else root / document
        known = file.exists()
        if known and anchor:
            known = file.suffix != ".md" or anchor in anchors(file.read_text(encoding="utf-8"))
        if not known:
            broken.append(f"{document}: {target}{'#' if anchor else ''}{anchor}")
    return broken


def long_readmes(root):
    """Folder READMEs that are too long; those of the project and of the guides are guides themselves."""
    counted = {
        file: len((root / file).read_text(encoding="utf-8").splitlines())
        for file in tracked(root)
        if file.name == "README.md" and len(file.parts) > 1 and file != Path("docs/README.md")
    }
    return [f"{file}: {lines}" for file, lines in counted.items() if lines > README_LINES_MAX]


def full_folders(root):
    """Folders with too many files of their own; subfolders count for themselves."""
    counts = {}
    for file in tracked(root, "src", "tests", "bench"):
        if file.parent.name != DATA_FOLDER:
            counts[file.parent] = counts.get(file.parent, 0) + 1
    return [f"{folder}: {files}" for folder, files in counts.items() if files > FOLDER_FILES_MAX]


class Documents(unittest.TestCase):
    def test_paths_in_documents_exist(self):
        missing = [path for file in documents(ROOT) for path in missing_paths(ROOT, file)]
        self.assertEqual(missing, [])

    def test_links_lead_somewhere(self):
        pages = [file for file in tracked(ROOT) if file.suffix == ".md"]
        self.assertEqual([link for file in pages for link in broken_links(ROOT, file)], [])

    def test_the_index_lists_every_guide(self):
        index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
        pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
        self.assertEqual(sorted(page for page in pages if f"({page})" not in index), [])

    def test_folder_readmes_are_short(self):
        self.assertEqual(long_readmes(ROOT), [])

    def test_folders_are_small(self):
        self.assertEqual(full_folders(ROOT), [])


class References(unittest.TestCase):
    """The list of routes is that of the program (docs_references), the catalogue that of its tools."""

    # contract: CMD-59
    def test_no_route_and_no_tool_retrieves_artifacts(self):
        page = (ROOT / "docs" / "http-routes.md").read_text(encoding="utf-8")
        routes = re.findall(r"^\| `\w+ (/\S*)`", page, re.MULTILINE)
        catalogue = (ROOT / "tests" / "support" / "catalogue.h").read_text(encoding="utf-8")
        tools = re.findall(r'"([A-Z]\w+)"', catalogue)
        self.assertGreater(len(routes), 90)
        self.assertGreater(len(tools), 20)
        self.assertEqual([name for name in routes + tools if "artifact" in name.lower()], [])


class Checks(unittest.TestCase):
    """The checks themselves, on a small repository."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def add(self, name, text=""):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        subprocess.run(["git", "add", "--", name], cwd=self.root, check=True)

    def test_a_path_may_start_at_the_document_at_src_or_at_the_root(self):
        self.add("src/a/b/c.h")
        self.add("src/a/README.md", "`b/c.h` `a/b/c.h` `src/a/b/c.h` `b/*.h` `gone/c.h` `c.cc`")
        self.assertEqual(
            missing_paths(self.root, Path("src/a/README.md")), ["src/a/README.md: gone/c.h"]
        )

    def test_paths_of_a_home_and_of_the_system_are_not_checked(self):
        self.add("docs/a.md", "`<home>/gate/x.md` `agents/<id>/AGENTS.md` `/etc/x.json` `a/b`")
        self.assertEqual([missing_paths(self.root, file) for file in documents(self.root)], [[]])

    def test_a_link_to_a_missing_file_or_heading_is_reported(self):
        self.add("docs/a.md", "# One `word`, two\n[b](b.md) [a](#one-word-two) [x](https://x.org/y)")
        self.add("docs/b.md", "[a](a.md#three) [p](../p.svg)\n")
        self.assertEqual(broken_links(self.root, Path("docs/a.md")), [])
        self.assertEqual(
            broken_links(self.root, Path("docs/b.md")),
            ["docs/b.md: a.md#three", "docs/b.md: ../p.svg"],
        )

    def test_a_long_readme_is_reported(self):
        self.add("src/README.md", "line\n" * (README_LINES_MAX + 1))
        self.add("README.md", "line\n" * (README_LINES_MAX + 1))
        self.assertEqual(long_readmes(self.root), [f"src/README.md: {README_LINES_MAX + 1}"])

    def test_a_full_folder_is_reported_but_not_a_folder_of_cases(self):
        for number in range(FOLDER_FILES_MAX + 1):
            self.add(f"src/full/{number}.cc")
            self.add(f"tests/plans/cases/{number}.txt")
        self.assertEqual(full_folders(self.root), [f"src/full: {FOLDER_FILES_MAX + 1}"])


if __name__ == "__main__":
    unittest.main()
