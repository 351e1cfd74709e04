#include <set>

#include "exec/results/artifacts.h"
#include "exec/tools/builtin/fixture_for_test.h"
#include "exec/tools/builtin/patch_output.h"

namespace builtin {
namespace {

class ApplyPatchTest : public BuiltinTest {
protected:
    tools::Dispatched apply(std::string patch) {
        return run("ApplyPatch", {{"patch", std::move(patch)}});
    }
    results::Envelope projected(patch::Applied applied) {
        auto output = std::make_unique<PatchOutput>();
        output->applied = std::move(applied);
        results::FileArtifacts sink(folder_.path(), "apply-patch", ids_);
        return results::project("ApplyPatch", std::move(output), sink, {});
    }
};

// contract: RCPT-05, RES-06
TEST_F(ApplyPatchTest, ConfirmsEachChangedFileByItsPath) {
    folder_.write("repo/old.txt", "x\n");
    folder_.write("repo/from.txt", "y\n");
    const auto end = apply(
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n"
        "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/from.txt b/to.txt\nrename from from.txt\n"
        "rename to to.txt\n");
    EXPECT_EQ(end.receipt, "Patch applied\nM a.txt\nA new.txt\nD old.txt\nR from.txt -> to.txt");
    auto result = end.envelope.result();
    ASSERT_TRUE(result.contains("undo"));
    result.erase("undo");
    EXPECT_EQ(
        results::Envelope::success("ApplyPatch", end.envelope.summary_text(), result),
        results::Envelope::success(
            "ApplyPatch", "Patched M a.txt, A new.txt, D old.txt, R from.txt -> to.txt",
            {{"changed_files",
              {{{"action", "modify"}, {"path", "a.txt"}},
               {{"action", "add"}, {"path", "new.txt"}},
               {{"action", "delete"}, {"path", "old.txt"}},
               {{"action", "move"}, {"path", "to.txt"}, {"from_path", "from.txt"}}}},
             {"changed_paths",
              {folder_.at("repo/a.txt"), folder_.at("repo/from.txt"), folder_.at("repo/new.txt"),
               folder_.at("repo/old.txt"), folder_.at("repo/to.txt")}},
             {"changed_file_count", 5}}));
    EXPECT_EQ(folder_.all().at("repo/a.txt"), "644 1\ntwo\n");
    EXPECT_TRUE(end.result.effects.side_effects_observed);
    EXPECT_EQ(end.result.effects.renamed,
              (std::vector<domain::RenamedPath>{
                  {folder_.at("repo/from.txt"), folder_.at("repo/to.txt")}}));
    EXPECT_EQ(end.result.effects.modified.size(), 1u);
}

// contract: RES-06
// A workspace whose folder was replaced by a link after it was attached leads elsewhere.
TEST_F(ApplyPatchTest, FollowsNoLinkToItsRoot) {
    folder_.write("target/config.json", "kept\n");
    folder_.write("target/deep/authorized_keys", "kept\n");
    std::filesystem::rename(folder_.at("repo"), folder_.at("moved"));
    std::filesystem::create_directory_symlink(folder_.at("target"), folder_.at("repo"));
    const char* patch = "--- a/config.json\n+++ b/config.json\n@@ -1 +1 @@\n-kept\n+changed\n";
    EXPECT_FALSE(apply(patch).envelope.ok());
    EXPECT_EQ(bytes_of(folder_.at("target/config.json")), "kept\n");
    // Nor to a folder above it.
    std::filesystem::remove(folder_.at("repo"));
    std::filesystem::create_directory_symlink(folder_.at("target"), folder_.at("above"));
    place_.workspace.execution_root = place_.workspace.cwd = folder_.at("above/deep");
    EXPECT_FALSE(apply("--- a/authorized_keys\n+++ b/authorized_keys\n@@ -1 +1 @@\n-kept\n+x\n")
                     .envelope.ok());
    EXPECT_EQ(bytes_of(folder_.at("target/deep/authorized_keys")), "kept\n");
}

TEST_F(ApplyPatchTest, ReportsNoModificationForIdenticalBytes) {
    const auto end = apply("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+one\n two\n");
    EXPECT_EQ(end.result.effects, domain::Effects{});
}

// contract: TERR-03, TERR-07, TERR-18
TEST_F(ApplyPatchTest, HasAKindAndACodeForEachWayToFail) {
    struct Case {
        std::string patch, kind, code;
    };
    const std::vector<Case> cases{
        {"nonsense", "invalid_patch_syntax", "VALIDATION_ERROR"},
        {"--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+b\n", "missing_file", "NOT_FOUND"},
        {"--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "path_escape", "POLICY_DENIED"},
        {"--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+n\n", "existing_file", "CONFLICT"},
        {"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nine\n+b\n", "context_not_found",
         "PRECONDITION_FAILED"},
        {"diff --git a/a.txt b/a.txt\nGIT binary patch\n", "unsupported_git_patch_feature",
         "VALIDATION_ERROR"},
    };
    const auto before = folder_.all();
    std::set<std::string> hints;
    for (const auto& [patch, kind, code] : cases) {
        const auto end = apply(patch), again = apply(patch);
        EXPECT_EQ(end.envelope.error().kind, kind) << patch;
        EXPECT_EQ(end.result.error->code, code) << patch;
        EXPECT_FALSE(end.envelope.error().retryable) << patch;
        EXPECT_EQ(again.envelope, end.envelope) << patch;
        EXPECT_EQ(end.receipt, results::render_error(end.envelope)) << patch;
        hints.insert(end.envelope.error().recovery_hint.value_or(""));
    }
    EXPECT_EQ(hints.size(), cases.size());
    EXPECT_EQ(folder_.all(), before);
}

TEST_F(ApplyPatchTest, GoesOnToItsEndOnceBegun) {
    const auto running =
        start("ApplyPatch", {{"patch", "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+n\n"}});
    running->cancel();
    EXPECT_EQ(end().receipt, "Patch applied\nA n.txt");
}

TEST_F(ApplyPatchTest, ListsDiagnosticsAndMetadataWithTheReceipt) {
    const auto envelope = projected(
        {.changed_files = {{patch::Action::Modify, "a.txt"}},
         .changed_paths = {"/repo/a.txt"},
         .ignored_metadata = {{"a.txt", "index", "1a..2b"}},
         .diagnostics = std::vector<patch::Diagnostic>(
             kDiagnosticsShown + 2, {"a.txt", "hunk_count_mismatch", "The counts are wrong."})});
    EXPECT_EQ(envelope.result().at("ignored_metadata"),
              (json::value{{{"path", "a.txt"}, {"kind", "index"}, {"value", "1a..2b"}}}));
    EXPECT_EQ(base::int_at(envelope.result(), "diagnostic_count"), 10);
    std::string expected = "Patch applied, with diagnostics\nM a.txt\n\nDiagnostics:";
    for (std::size_t i = 0; i < kDiagnosticsShown; ++i)
        expected += "\n- hunk_count_mismatch on a.txt: The counts are wrong.";
    expected +=
        "\n(2 more not listed)\nRead the changed regions once more if a diagnostic surprises you.";
    EXPECT_EQ(render_patch(envelope), expected);
}

TEST_F(ApplyPatchTest, CountsWhatItDoesNotList) {
    const auto changed = [](std::size_t count) {
        patch::Applied applied;
        for (std::size_t i = 0; i < count; ++i)
            applied.changed_files.push_back({patch::Action::Add, fmt::format("f{}", i)});
        return applied;
    };
    const auto exact = render_patch(projected(changed(kChangedFilesShown)));
    EXPECT_THAT(exact, testing::EndsWith("\nA f199"));
    const auto more = projected(changed(kChangedFilesShown + 3));
    EXPECT_EQ(more.result().at("changed_files").as_array().size(), kChangedFilesShown);
    EXPECT_THAT(render_patch(more), testing::EndsWith("\nA f199\n(3 more not listed)"));
}

TEST_F(ApplyPatchTest, BoundsWhatAPatchCanPutIntoTheRecord) {
    const auto envelope = projected({.changed_files = {{patch::Action::Add, "a\xff"}},
                                     .changed_paths = {"/repo/a\xff"},
                                     .ignored_metadata = std::vector<patch::IgnoredMetadata>(
                                         500, {"a\xff", "index", std::string(100'000, 'x')})});
    const std::string text = base::json_text(envelope.to_json());
    EXPECT_TRUE(base::parse_json(text)) << "not valid UTF-8";
    EXPECT_LT(text.size(), 20'000u);
    EXPECT_EQ(envelope.result().at("changed_files"),
              (json::value{{{"action", "add"}, {"path", "a\uFFFD"}}}));
}

}  // namespace
}  // namespace builtin
