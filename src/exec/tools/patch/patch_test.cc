#include "exec/tools/patch/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/hash.h"
#include "exec/tools/patch/folder_for_test.h"

namespace patch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

using Tree = std::map<std::string, std::string>;

std::string etag(std::string_view bytes) {
    return "sha256:" + base::sha256_hex(bytes);
}

// A diff that replaces the only line "old" of `path` by "new".
std::string edit(std::string_view path) {
    return fmt::format("--- {}\n+++ {}\n@@ -1 +1 @@\n-old\n+new\n", path, path);
}

std::string addition(std::string_view path) {
    return fmt::format("--- /dev/null\n+++ {}\n@@ -0,0 +1 @@\n+new\n", path);
}

class PatchTest : public testing::Test {
protected:
    std::expected<Applied, domain::ToolError> unified(std::string_view text) const {
        return apply(text, Format::UnifiedDiff, {root.path(), root.path() / cwd});
    }
    std::expected<Applied, domain::ToolError> freeform(std::string_view body) const {
        return apply(fmt::format("*** Begin Patch\n{}*** End Patch\n", body), Format::Freeform,
                     {root.path(), root.path() / cwd});
    }

    // Refused with `kind`, and not a byte below the root or outside is touched.
    void expect_refused(std::string_view text, std::string_view kind) const {
        const auto before = root.all();
        const auto before_outside = outside.all();
        const auto outcome = unified(text);
        ASSERT_FALSE(outcome) << text;
        EXPECT_EQ(outcome.error().kind, kind) << text << outcome.error().message;
        EXPECT_FALSE(outcome.error().retryable);
        EXPECT_EQ(root.all(), before) << text;
        EXPECT_EQ(outside.all(), before_outside) << text;
    }

    TestFolder root;
    TestFolder outside;
    std::string cwd{};
};

TEST_F(PatchTest, ReportsEveryKindOfChangeAndItsEffects) {
    root.write("m", "old\n");
    root.write("d", "old\n");
    root.write("r", "old\n");
    const auto applied = unified(edit("a/m") + addition("b/sub/n") +
                                 "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
                                 "diff --git a/r b/s\nrename from r\nrename to s\n");
    ASSERT_TRUE(applied) << applied.error().message;
    const Applied expected{
        .changed_files = {{Action::Modify, "m"},
                          {Action::Add, "sub/n"},
                          {Action::Delete, "d"},
                          {Action::Move, "s", "r"}},
        .changed_paths = {root.at("d"), root.at("m"), root.at("r"), root.at("s"), root.at("sub/n")},
        .effects = {
            .side_effects_observed = true,
            .created = {{root.at("sub/n")}, {root.at("sub"), domain::PathKind::Folder}},
            .modified = {{root.at("m"), domain::PathKind::File, etag("old\n"), etag("new\n")}},
            .deleted = {{root.at("d")}},
            .renamed = {{root.at("r"), root.at("s")}}}};
    EXPECT_EQ(*applied, expected);
    EXPECT_EQ(
        root.all(),
        (Tree{{"m", "644 new\n"}, {"s", "644 old\n"}, {"sub", "folder"}, {"sub/n", "644 new\n"}}));
}

TEST_F(PatchTest, AppliesTheFreeformFormat) {
    root.write("m", "one\ntwo\n");
    root.write("d", "whatever\n");
    root.write("r", "old\n");
    ASSERT_TRUE(
        freeform("*** Update File: m\n@@\n one\n-two\n+2\n*** Add File: n\n+new\n"
                 "*** Delete File: d\n*** Update File: r\n*** Move to: s\n@@\n-old\n+new\n"));
    EXPECT_EQ(root.all(), (Tree{{"m", "644 one\n2\n"}, {"n", "644 new\n"}, {"s", "644 new\n"}}));
}

TEST_F(PatchTest, AppliesTheOtherFormatWithADiagnostic) {
    root.write("m", "old\n");
    const auto applied = apply(edit("m"), Format::Freeform, {root.path(), root.path()});
    ASSERT_TRUE(applied);
    EXPECT_EQ(applied->diagnostics.at(0).kind, "apply_patch_compatibility_fallback");
}

TEST_F(PatchTest, RenamesWithHunksAndKeepsTheMode) {
    root.write("run.sh", "old\nrest\n", 0750);
    const auto applied = unified(
        "diff --git a/run.sh b/bin/run\nsimilarity index 50%\nrename from run.sh\nrename to "
        "bin/run\n--- a/run.sh\n+++ b/bin/run\n@@ -1,2 +1,2 @@\n-old\n+new\n rest\n");
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_EQ(root.all(), (Tree{{"bin", "folder"}, {"bin/run", "750 new\nrest\n"}}));
    EXPECT_THAT(applied->effects.renamed,
                ElementsAre(domain::RenamedPath{root.at("run.sh"), root.at("bin/run")}));
    EXPECT_THAT(applied->effects.modified,
                ElementsAre(domain::ModifiedPath{root.at("bin/run"), domain::PathKind::File,
                                                 etag("old\nrest\n"), etag("new\nrest\n")}));
    EXPECT_THAT(applied->ignored_metadata,
                ElementsAre(IgnoredMetadata{"bin/run", "similarity index", "50%"}));
}

TEST_F(PatchTest, TreatsAMoveOntoItselfAsAChangeInPlace) {
    root.write("x", "old\n");
    const auto applied = freeform("*** Update File: x\n*** Move to: ./x\n@@\n-old\n+new\n");
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_EQ(root.all(), (Tree{{"x", "644 new\n"}}));
    EXPECT_EQ(applied->changed_files.at(0).action, Action::Modify);
}

TEST_F(PatchTest, KeepsAndSetsFileModes) {
    root.write("kept", "old\n", 0751);
    root.write("on", "old\n", 0640);
    root.write("off", "old\n", 0755);
    const auto applied =
        unified(edit("a/kept") + "diff --git a/on b/on\nold mode 100644\nnew mode 100755\n" +
                "diff --git a/off b/off\nold mode 100755\nnew mode 100644\n--- a/off\n+++ b/off\n"
                "@@ -1 +1 @@\n-old\n+new\n"
                "diff --git a/fresh b/fresh\nnew file mode 100755\n--- /dev/null\n+++ b/fresh\n"
                "@@ -0,0 +1 @@\n+new\n");
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_EQ(root.all(), (Tree{{"kept", "751 new\n"},
                                {"on", "750 old\n"},
                                {"off", "644 new\n"},
                                {"fresh", "755 new\n"}}));
    EXPECT_THAT(applied->ignored_metadata, IsEmpty());
    EXPECT_EQ(applied->effects.modified.size(), 2U);
}

TEST_F(PatchTest, DoesNotCallIdenticalBytesAModification) {
    root.write("x", "same\n");
    const auto applied = unified("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-same\n+same\n");
    ASSERT_TRUE(applied);
    EXPECT_EQ(applied->effects, domain::Effects{});
    EXPECT_EQ(applied->diagnostics.at(0).kind, "file_unchanged");
}

TEST_F(PatchTest, PatchesCrlfFilesAndFilesWithoutAFinalNewline) {
    root.write("crlf", "one\r\nold\r\n");
    root.write("open", "one\nold");
    ASSERT_TRUE(
        unified("--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,3 @@\n one\n-old\n+new\n+more\n"
                "--- a/open\n+++ b/open\n@@ -1,2 +1,2 @@\n one\n-old\n+new\n"));
    EXPECT_EQ(root.all(), (Tree{{"crlf", "644 one\r\nnew\r\nmore\r\n"}, {"open", "644 one\nnew"}}));
}

TEST_F(PatchTest, AddsAndDeletesEmptyFiles) {
    root.write("void", "");
    ASSERT_TRUE(
        unified("diff --git a/void b/void\ndeleted file mode 100644\nindex e69de29..0\n"
                "diff --git a/fresh b/fresh\nnew file mode 100644\n"));
    EXPECT_EQ(root.all(), (Tree{{"fresh", "644 "}}));
}

TEST_F(PatchTest, ResolvesRelativePathsAgainstTheWorkingFolder) {
    cwd = "sub";
    root.write("sub/x", "old\n");
    root.write("y", "old\n");
    ASSERT_TRUE(unified(edit("a/x") + edit("../y")));
    EXPECT_EQ(root.all(), (Tree{{"sub", "folder"}, {"sub/x", "644 new\n"}, {"y", "644 new\n"}}));
}

TEST_F(PatchTest, AcceptsAbsolutePathsInsideTheRoot) {
    root.write("x", "old\n");
    const auto applied = unified(edit(root.at("x")));
    ASSERT_TRUE(applied);
    EXPECT_THAT(applied->changed_paths, ElementsAre(root.at("x")));
}

// A workspace is stored with its links resolved, so a link on the way appeared later.
TEST_F(PatchTest, RefusesARootThatIsReachedThroughALink) {
    root.write("x", "old\n");
    fs::create_directory_symlink(root.path(), outside.at("link"));
    const Place place{outside.at("link"), outside.at("link")};
    EXPECT_FALSE(apply(edit("x"), Format::UnifiedDiff, place));
    EXPECT_EQ(root.all(), (Tree{{"x", "644 old\n"}}));
}

TEST_F(PatchTest, FollowsFolderLinksThatStayInside) {
    root.write("real/deep/x", "old\n");
    root.write("real/y", "old\n");
    root.write("real/z", "old\n");
    fs::create_directory_symlink("real/deep", root.at("relative"));
    fs::create_directory_symlink("deep/../../real", root.at("real/winding"));
    fs::create_directory_symlink(root.at("real"), root.at("absolute"));
    const auto applied = unified(edit("relative/x") + edit("absolute/y") + edit("real/winding/z"));
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_EQ(root.all().at("real/deep/x"), "644 new\n");
    EXPECT_EQ(root.all().at("real/y"), "644 new\n");
    EXPECT_EQ(root.all().at("real/z"), "644 new\n");
}

TEST_F(PatchTest, RefusesEveryPathThatLeadsOut) {
    outside.write("x", "old\n");
    root.write("sub/file", "old\n");
    const std::string name = outside.path().filename().string();
    fs::create_directory_symlink(outside.path(), root.at("absolute"));
    fs::create_directory_symlink("../" + name, root.at("relative"));
    fs::create_directory_symlink("../../" + name, root.at("sub/deeper"));
    fs::create_directory_symlink("absolute", root.at("chained"));
    fs::create_directory_symlink(root.at("sub/../../" + name), root.at("through"));
    const std::string paths[] = {
        "../" + name + "/x", "sub/../../" + name + "/x",
        outside.at("x"),     "/etc/passwd",
        "absolute/x",        "relative/x",
        "sub/deeper/x",      "chained/x",
        "through/x",         "absolute/fresh/x",
    };
    for (const auto& path : paths) {
        expect_refused(edit(path), "path_escape");
        expect_refused(addition(path), "path_escape");
    }
    expect_refused(
        fmt::format("diff --git a/sub/file b/absolute/y\nrename from sub/file\nrename to "
                    "absolute/y\n"),
        "path_escape");
    const auto outcome = unified(edit("../x"));
    ASSERT_FALSE(outcome);
    const auto& details = *outcome.error().details;
    EXPECT_EQ(base::string_at(details, "requested_path"), "../x");
    EXPECT_EQ(base::string_at(details, "resolved_path"),
              (root.path().parent_path() / "x").string());
    EXPECT_EQ(base::string_at(details, "active_workspace_root"), root.path().string());
}

// The operator's next git command would run files there, outside any sandbox.
TEST_F(PatchTest, LeavesTheFoldersOfGitToGit) {
    root.write(".git/hooks/pre-commit", "old\n");
    root.write("sub/.git", "gitdir: elsewhere\n");
    fs::create_directory_symlink(".git/hooks", root.at("hooks"));
    fs::create_directory_symlink(root.at(".git"), root.at("sub/g"));
    for (const char* path : {".git/hooks/pre-commit", ".git/hooks/new/deep", "hooks/pre-commit",
                             "sub/g/config", "sub/.git", ".GIT/config", "sub/../.git/x"}) {
        expect_refused(edit(path), "policy_denied");
        expect_refused(addition(path), "policy_denied");
    }
    EXPECT_TRUE(unified(addition(".gitignore")));
    EXPECT_TRUE(unified(addition(".github/workflows/ci.yml")));
}

TEST_F(PatchTest, RefusesWhatIsNotARegularFile) {
    root.write("x", "old\n");
    outside.write("x", "old\n");
    fs::create_directory(root.at("folder"));
    fs::create_symlink("x", root.at("link"));
    fs::create_symlink(outside.at("x"), root.at("link-out"));
    fs::create_symlink("nowhere", root.at("dangling"));
    ASSERT_EQ(::mkfifo(root.at("pipe").c_str(), 0600), 0);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX};
    root.at("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    for (const std::string_view path : {"folder", "folder/", ".", "link", "link-out", "dangling",
                                        "pipe", "socket", "x/below", "dangling/below"}) {
        expect_refused(edit(path), "unsupported_file_type");
        expect_refused(addition(path), "unsupported_file_type");
        expect_refused(fmt::format("*** Begin Patch\n*** Delete File: {}\n*** End Patch", path),
                       "unsupported_file_type");
    }
    ::close(fd);
}

TEST_F(PatchTest, EndsOnALoopOfLinks) {
    fs::create_symlink("b", root.at("a"));
    fs::create_symlink("a", root.at("b"));
    expect_refused(edit("./a/x"), "tool_execution_failed");
}

TEST_F(PatchTest, RefusesToAddOverAFile) {
    root.write("x", "old\n");
    root.write("y", "old\n");
    expect_refused(addition("x"), "existing_file");
    expect_refused("diff --git a/x b/y\nrename from x\nrename to y\n", "existing_file");
}

TEST_F(PatchTest, SaysWhichActionMissedItsFile) {
    root.write("x", "old\n");
    const std::pair<std::string, std::string_view> cases[] = {
        {edit("gone"), "update"},
        {"--- a/no/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n", "delete"},
        {"diff --git a/gone b/y\nrename from gone\nrename to y\n", "rename"}};
    for (const auto& [text, action] : cases) {
        const auto outcome = unified(text);
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().kind, "missing_file");
        EXPECT_EQ(base::string_at(*outcome.error().details, "action"), action);
    }
    expect_refused(edit("x") + edit("gone"), "missing_file");
}

TEST_F(PatchTest, RefusesToNameOneFileTwice) {
    root.write("x", "old\n");
    root.write("sub/y", "old\n");
    fs::create_directory_symlink("sub", root.at("alias"));
    expect_refused(edit("x") + edit("x"), "duplicate_file_patch");
    expect_refused(edit("x") + edit("./sub/../x"), "duplicate_file_patch");
    expect_refused(edit("sub/y") + edit("alias/y"), "duplicate_file_patch");
    expect_refused(edit("x") + "diff --git a/x b/z\nrename from x\nrename to z\n",
                   "duplicate_file_patch");
    expect_refused(addition("z") + "diff --git a/x b/z\nrename from x\nrename to z\n",
                   "duplicate_file_patch");
    expect_refused(addition("new/z") + addition("new/./z"), "duplicate_file_patch");
}

TEST_F(PatchTest, DeletesOnlyWhatTheHunksListCompletely) {
    root.write("x", "one\ntwo\n");
    expect_refused("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "delete_content_mismatch");
    expect_refused("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-2\n", "context_not_found");
    expect_refused("--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n-one\n-two\n+3\n",
                   "delete_content_mismatch");
    expect_refused("diff --git a/x b/x\ndeleted file mode 100644\n", "delete_content_mismatch");
    ASSERT_TRUE(unified("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"));
    EXPECT_THAT(root.all(), IsEmpty());
}

TEST_F(PatchTest, ChangesNothingWhenOneFileDoesNotMatch) {
    root.write("x", "old\n");
    root.write("y", "other\n");
    expect_refused(edit("x") + addition("z") + edit("y"), "context_not_found");
    root.write("y", "old\nold\n");
    expect_refused(edit("x") + edit("y"), "ambiguous_context");
}

TEST_F(PatchTest, UndoesEverythingWhenTheSweepFailsHalfway) {
    root.write("x", "old\n", 0600);
    root.write("gone", "old\n");
    // `fresh` cannot be a file and, for `fresh/inside`, a folder.
    expect_refused(edit("x") + "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n" +
                       addition("fresh") + addition("fresh/inside"),
                   "file_changed");
}

TEST_F(PatchTest, RefusesFilesThatAreTooLarge) {
    root.write("x", "old\n");
    fs::resize_file(root.at("x"), kFileBytesMax + 1);
    const auto outcome = unified(edit("x"));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(base::string_at(*outcome.error().details, "rule"), "file_too_large");
}

TEST_F(PatchTest, RefusesPathsThatNoFileCanHave) {
    expect_refused(edit("\"a/x\\000y\""), "invalid_patch_syntax");
    expect_refused(edit("\"a/x\\377y\""), "invalid_patch_syntax");
    expect_refused(addition(std::string(300, 'x')), "tool_execution_failed");
}

TEST_F(PatchTest, FailsWhenTheRootIsGone) {
    const auto outcome = apply(edit("x"), Format::UnifiedDiff, {root.at("none"), root.at("none")});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "tool_execution_failed");
}

}  // namespace
}  // namespace patch
