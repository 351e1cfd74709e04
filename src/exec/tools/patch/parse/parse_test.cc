#include "exec/tools/patch/parse/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tools/patch/parse/git_path.h"

namespace patch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Line kept(std::string_view text) {
    return {LineKind::Context, text};
}
Line removed(std::string_view text) {
    return {LineKind::Remove, text};
}
Line added(std::string_view text) {
    return {LineKind::Add, text};
}

std::vector<std::string> kinds(const std::vector<Diagnostic>& diagnostics) {
    std::vector<std::string> kinds;
    for (const auto& diagnostic : diagnostics) kinds.push_back(diagnostic.kind);
    return kinds;
}

// "kind" or, for syntax, "kind/rule@line".
std::string error_of(const Outcome<Parsed>& outcome) {
    if (outcome) return "none";
    const auto& error = outcome.error();
    EXPECT_FALSE(error.retryable);
    EXPECT_TRUE(error.recovery_hint.has_value());
    if (error.kind != "invalid_patch_syntax") return error.kind;
    return fmt::format("{}@{}", base::string_at(*error.details, "rule"),
                       base::int_at(*error.details, "line"));
}

TEST(ParseUnified, ReadsFilesHunksAndLines) {
    const auto parsed = parse_unified(
        "--- a/x.txt\n+++ b/x.txt\n@@ -3,2 +3,2 @@ in f()\n one\n-two\n+2\n"
        "--- /dev/null\n+++ b/y.txt\n@@ -0,0 +1 @@\n+new\n");
    ASSERT_TRUE(parsed);
    const Parsed expected{
        .files = {{.path = "x.txt",
                   .hunks = {{.patch_line = 3,
                              .old_start = 3,
                              .lines = {kept("one"), removed("two"), added("2")}}}},
                  {.action = Action::Add,
                   .path = "y.txt",
                   .hunks = {{.patch_line = 9,
                              .old_start = 0,
                              .inserts_after = true,
                              .lines = {added("new")}}}}}};
    EXPECT_EQ(*parsed, expected);
}

struct PathCase {
    std::string_view header;
    std::string_view path;
};
TEST(ParseUnified, ReadsPathsAsGitAndDiffWriteThem) {
    const PathCase cases[] = {
        {"a/x.txt", "x.txt"},
        {"x.txt", "x.txt"},
        {"b/x.txt", "x.txt"},
        {"a/dir/x.txt\t2020-01-01 10:00:00 +0000", "dir/x.txt"},
        {"\"a/with space\"", "with space"},
        {"a/with space", "with space"},
        {"\"a/\\303\\244 \\\"q\\\" \\t\\\\\"", "\xc3\xa4 \"q\" \t\\"},
        {"a//etc/passwd", "a//etc/passwd"},
        {"/abs/x", "/abs/x"},
    };
    for (const auto& [header, path] : cases) {
        const auto text = fmt::format("--- {}\n+++ {}\n@@ -1 +1 @@\n-a\n+b\n", header, header);
        const auto parsed = parse_unified(text);
        ASSERT_TRUE(parsed) << header;
        EXPECT_EQ(parsed->files.at(0).path, path);
    }
}

TEST(ParseUnified, SeparatesTheTwoPathsOfAGitHeader) {
    const auto both = [](std::string path) { return GitPaths{path, path}; };
    EXPECT_EQ(git_header_paths("a/x b/x").paths, both("x"));
    EXPECT_EQ(git_header_paths("a/x y b/x y").paths, both("x y"));
    EXPECT_EQ(git_header_paths("\"a/x\\ty\" \"b/x\\ty\"").paths, both("x\ty"));
    EXPECT_EQ(git_header_paths("a/old \"b/new\\n\"").paths, (GitPaths{"old", "new\n"}));
    EXPECT_TRUE(git_header_paths("a/one two b/three").ambiguous);
    EXPECT_FALSE(git_header_paths("a/x").paths);
    EXPECT_FALSE(git_header_paths("\"a/x b/x").paths);
}

TEST(ParseUnified, AppliesModesAndListsOtherMetadataAsIgnored) {
    const auto parsed = parse_unified(
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 12..34\n"
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 "
        "@@\n+a\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-a\n");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->files.at(0).executable, true);
    EXPECT_EQ(parsed->files.at(1).executable, true);
    EXPECT_EQ(parsed->files.at(2).action, Action::Delete);
    EXPECT_THAT(parsed->ignored_metadata,
                ElementsAre(IgnoredMetadata{"x", "index", "12..34"},
                            IgnoredMetadata{"gone", "deleted file mode", "100644"}));
}

TEST(ParseUnified, NeedsNoHunksForRenamesModesAndEmptyFiles) {
    const auto parsed = parse_unified(
        "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
        "diff --git a/x b/x\nold mode 100755\nnew mode 100644\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/void b/void\ndeleted file mode 100644\n");
    ASSERT_TRUE(parsed);
    EXPECT_THAT(parsed->files,
                ElementsAre(FilePatch{.action = Action::Move, .path = "new", .from_path = "old"},
                            FilePatch{.path = "x", .executable = false},
                            FilePatch{.action = Action::Add, .path = "empty", .executable = false},
                            FilePatch{.action = Action::Delete, .path = "void"}));
}

TEST(ParseUnified, AcceptsRenamesWhoseUnquotedPathsHaveSpaces) {
    const auto parsed = parse_unified(
        "diff --git a/old name b/new name here\nrename from old name\nrename to new name here\n");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->files.at(0).from_path, "old name");
    EXPECT_EQ(parsed->files.at(0).path, "new name here");
}

TEST(ParseUnified, ReadsNoNewlineMarkersOfBothSides) {
    const auto last = [](std::string_view body) {
        const auto text = fmt::format("--- a/x\n+++ b/x\n@@ -1 +1 @@\n{}", body);
        const auto parsed = parse_unified(text);
        return parsed ? parsed->files.at(0).hunks.at(0).final_newline : std::nullopt;
    };
    EXPECT_EQ(last("-a\n+b\n"), std::nullopt);
    EXPECT_EQ(last("-a\n\\ No newline at end of file\n+b\n"), true);
    EXPECT_EQ(last("-a\n+b\n\\ No newline at end of file\n"), false);
    EXPECT_EQ(last("-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"), false);
    EXPECT_EQ(last("+b\n a\n\\ No newline at end of file"), false);
}

TEST(ParseUnified, TakesAnEmptyLineForContextWhereThatIsPlain) {
    struct Case {
        std::string_view name;
        std::string_view body;
        std::vector<Line> lines;
        std::vector<std::string> diagnostics;
    };
    const Case cases[] = {
        {"the hunk continues",
         "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n",
         {kept("a"), kept(""), removed("b"), added("c")},
         {"hunk_empty_line_as_context"}},
        {"the counts ask for it at the end",
         "@@ -1,3 +1,3 @@\n-a\n+b\n c\n\n",
         {removed("a"), added("b"), kept("c"), kept("")},
         {"hunk_empty_line_as_context"}},
        {"the counts do not ask for it",
         "@@ -1,1 +1,1 @@\n-a\n+b\n\n\n",
         {removed("a"), added("b")},
         {}},
        {"spaces at the end after the last counted line",
         "@@ -1,1 +1,1 @@\n-a\n+b\n  ",
         {removed("a"), added("b")},
         {}},
        {"a kept empty line at the end",
         "@@ -1,2 +1,2 @@\n-a\n+b\n ",
         {removed("a"), added("b"), kept("")},
         {}},
    };
    for (const auto& [name, body, lines, diagnostics] : cases) {
        const auto text = fmt::format("--- a/x\n+++ b/x\n{}", body);
        const auto parsed = parse_unified(text);
        ASSERT_TRUE(parsed) << name;
        EXPECT_EQ(parsed->files.at(0).hunks.at(0).lines, lines) << name;
        EXPECT_EQ(kinds(parsed->diagnostics), diagnostics) << name;
    }
}

TEST(ParseUnified, AllowsBlankLinesBetweenHunksAndFiles) {
    const auto parsed = parse_unified(
        "\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\n@@ -9 +9 @@\n-c\n+d\n\n"
        "--- a/y\n+++ b/y\n\n@@ -1 +1 @@\n-a\n+b\n");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->files.at(0).hunks.size(), 2U);
    EXPECT_EQ(parsed->files.at(1).hunks.size(), 1U);
    EXPECT_THAT(parsed->diagnostics, IsEmpty());
}

TEST(ParseUnified, ReportsWrongCountsAndContinues) {
    const auto parsed = parse_unified("--- a/x\n+++ b/x\n@@ -1,9 +1,2 @@\n-a\n+b\n");
    ASSERT_TRUE(parsed);
    EXPECT_THAT(kinds(parsed->diagnostics), ElementsAre("hunk_count_mismatch"));
}

TEST(ParseUnified, DistinguishesRemovedDashesFromTheNextHeader) {
    const auto removed_dashes = parse_unified(
        "--- a/x.sql\n+++ b/x.sql\n@@ -1 +1 @@\n--- old comment\n+++ new comment\n"
        "@@ -5 +5 @@\n-a\n+b\n");
    ASSERT_TRUE(removed_dashes);
    EXPECT_EQ(removed_dashes->files.size(), 1U);
    const auto next_file = parse_unified(
        "--- a/x\n+++ b/x\n@@ -1,7 +1,9 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-a\n+b\n");
    ASSERT_TRUE(next_file);
    EXPECT_EQ(next_file->files.size(), 2U);
}

TEST(ParseUnified, ReadsAPatchSentWithCarriageReturns) {
    const auto parsed = parse_unified("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->files.at(0).path, "x");
    EXPECT_THAT(parsed->files.at(0).hunks.at(0).lines, ElementsAre(removed("a"), added("b")));
}

TEST(ParseUnified, KeepsCarriageReturnsThatTheDiffShows) {
    const auto parsed = parse_unified("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\n");
    ASSERT_TRUE(parsed);
    EXPECT_THAT(parsed->files.at(0).hunks.at(0).lines,
                ElementsAre(Line{LineKind::Remove, "a", true}, added("b")));
}

TEST(ParseUnified, NamesTheRuleThatWasBroken) {
    struct Case {
        std::string_view text;
        std::string_view error;
    };
    const std::string_view ok = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n";
    const Case cases[] = {
        {"", "unknown_patch_format@0"},
        {"please change x", "unknown_patch_format@1"},
        {"*** Begin Patch\n*** End Patch", "wrong_patch_format@1"},
        {"Index: x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", "missing_file_header@1"},
        {"--- a/x\n@@ -1 +1 @@\n-a", "missing_file_header@2"},
        {"--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a", "missing_file_header@1"},
        {"diff --git a/x b/x\nindex 1..2\n", "missing_file_header@1"},
        {"diff --git a/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a", "invalid_git_header@1"},
        {"diff --git a/x y b/z\nnew mode 100755\n", "invalid_git_header@1"},
        {"--- a/x\n+++ b/x\n", "missing_hunk@1"},
        {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "missing_hunk@3"},
        {"--- a/x\n+++ b/x\n@@\n-a\n", "invalid_hunk_header@3"},
        {"--- a/x\n+++ b/x\n@@ -x +1 @@\n-a\n", "invalid_hunk_header@3"},
        {"--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n-a\n", "invalid_hunk_header@3"},
        {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\nb\n", "invalid_hunk_line@5"},
        {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline at end of file\n", "invalid_hunk_line@4"},
        {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n-b\n",
         "invalid_hunk_line@3"},
        {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\nindex 1..2\n", "unexpected_git_metadata@5"},
        {"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n b\n", "invalid_hunk_line@3"},
        {"--- /dev/null\n+++ b/x\n@@ -0,0 +1,3 @@\n+a\n\n+b\n", "invalid_hunk_empty_line@3"},
        {"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n", "path_header_mismatch@1"},
        {"diff --git a/x b/x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n", "path_header_mismatch@1"},
        {"diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n",
         "path_header_mismatch@1"},
        {"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n", "missing_rename_header@1"},
        {"diff --git a/x b/y\nrename from x\n", "missing_rename_header@1"},
        {"rename from x\nrename to y\n", "missing_git_header"},
        {"diff --git a/x b/y\nrename from x\nrename to z\n", "rename_path_mismatch"},
        {"diff --git a/x b/x\nGIT binary patch\nliteral 1\n", "unsupported_git_patch_feature"},
        {"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "unsupported_git_patch_feature"},
        {"diff --git a/x b/y\ncopy from x\ncopy to y\n", "unsupported_git_patch_feature"},
        {"diff --git a/x b/x\nnew file mode 120000\n", "unsupported_git_patch_feature"},
        {"diff --git a/m b/m\nindex 1..2 160000\n--- a/m\n+++ b/m\n",
         "unsupported_git_patch_feature"},
    };
    EXPECT_EQ(error_of(parse_unified(std::string(ok) + "-a\n+b\n")), "none");
    for (const auto& [text, error] : cases) EXPECT_EQ(error_of(parse_unified(text)), error) << text;
}

TEST(ParseFreeform, ReadsAddsDeletesUpdatesAndMoves) {
    const auto parsed = parse_freeform(
        "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n*** Delete File: old.txt\n"
        "*** Update File: x.txt\n*** Move to: y.txt\n@@ class A\n@@ def f\n a\n-b\n+c\n@@\n+d\n"
        "*** End of File\n*** End Patch\n");
    ASSERT_TRUE(parsed);
    const Parsed expected{
        .files = {{.action = Action::Add,
                   .path = "new.txt",
                   .hunks = {{.patch_line = 2, .lines = {added("one"), added("")}}}},
                  {.action = Action::Delete, .path = "old.txt", .deletes_whatever_is_in = true},
                  {.action = Action::Move,
                   .path = "y.txt",
                   .from_path = "x.txt",
                   .hunks = {{.patch_line = 8, .lines = {kept("a"), removed("b"), added("c")}},
                             {.patch_line = 13, .final_newline = false, .lines = {added("d")}}}}}};
    EXPECT_EQ(*parsed, expected);
}

TEST(ParseFreeform, UnwrapsAHereDocument) {
    EXPECT_TRUE(
        parse_freeform("<<'EOF'\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF\n"));
}

TEST(ParseFreeform, TakesAnEmptyLineInsideAChunkForContext) {
    const auto parsed = parse_freeform(
        "*** Begin Patch\n*** Update File: x\n@@\n a\n\n-b\n\n@@\n-c\n\n*** End Patch");
    ASSERT_TRUE(parsed);
    EXPECT_THAT(parsed->files.at(0).hunks.at(0).lines,
                ElementsAre(kept("a"), kept(""), removed("b")));
    EXPECT_THAT(parsed->files.at(0).hunks.at(1).lines, ElementsAre(removed("c")));
    EXPECT_THAT(kinds(parsed->diagnostics), ElementsAre("hunk_empty_line_as_context"));
}

TEST(ParseFreeform, NamesTheRuleThatWasBroken) {
    struct Case {
        std::string_view body;
        std::string_view error;
    };
    const Case cases[] = {
        {"*** Delete File: x\n", "missing_end_patch@0"},
        {"*** End Patch", "invalid_codex_hunk@0"},
        {"*** Rename File: x\n*** End Patch", "invalid_codex_hunk@2"},
        {"*** Delete File: \n*** End Patch", "invalid_codex_hunk@2"},
        {"*** Add File: x\n*** End Patch", "invalid_codex_add_line@2"},
        {"*** Add File: x\n+a\nb\n*** End Patch", "invalid_codex_add_line@4"},
        {"*** Add File: x\n+a\n\n+b\n*** End Patch", "invalid_codex_add_line@4"},
        {"*** Update File: x\n*** End Patch", "invalid_codex_hunk@2"},
        {"*** Update File: x\n@@\n*** End Patch", "invalid_codex_hunk@3"},
        {"*** Update File: x\n@@\nfoo\n*** End Patch", "invalid_codex_change_line@4"},
        {"*** Delete File: x\n*** End Patch\nmore", "wrong_patch_format@4"},
    };
    EXPECT_EQ(error_of(parse_freeform("--- a/x\n")), "wrong_patch_format@1");
    for (const auto& [body, error] : cases) {
        const auto text = fmt::format("*** Begin Patch\n{}", body);
        EXPECT_EQ(error_of(parse_freeform(text)), error) << body;
    }
}

TEST(Parse, FallsBackToTheOtherFormatAndSaysSo) {
    const std::string_view unified = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    const std::string_view freeform = "\n*** Begin Patch\n*** Delete File: x\n*** End Patch\n";
    for (const auto& [text, expected] :
         {std::pair{unified, Format::Freeform}, std::pair{freeform, Format::UnifiedDiff}}) {
        const auto parsed = parse(text, expected);
        ASSERT_TRUE(parsed);
        EXPECT_THAT(kinds(parsed->diagnostics), ElementsAre("apply_patch_compatibility_fallback"));
        EXPECT_EQ(parsed->diagnostics.at(0).path, "");
    }
    EXPECT_THAT(parse(unified, Format::UnifiedDiff)->diagnostics, IsEmpty());
    EXPECT_EQ(error_of(parse("nonsense", Format::Freeform)), "wrong_patch_format@1");
}

TEST(Parse, RefusesPatchesThatAreTooLarge) {
    EXPECT_EQ(error_of(parse(std::string(kPatchBytesMax + 1, 'x'), Format::UnifiedDiff)),
              "patch_too_large@0");
    std::string many = "*** Begin Patch\n";
    for (std::size_t i = 0; i <= kPatchFilesMax; ++i)
        many += fmt::format("*** Delete File: {}\n", i);
    EXPECT_EQ(error_of(parse(many + "*** End Patch", Format::Freeform)), "patch_too_large@0");
}

}  // namespace
}  // namespace patch
