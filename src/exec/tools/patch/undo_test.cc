#include "exec/tools/patch/undo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/patch/patch.h"

namespace patch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class UndoTest : public testing::Test {
protected:
    Undo applied(std::string_view text) {
        auto done = apply(text, Format::UnifiedDiff, {root.path(), root.path()},
                          [this](std::string_view bytes) -> base::Result<std::string> {
                              const std::string name = std::to_string(kept_.size());
                              kept_[name] = bytes;
                              return name;
                          });
        EXPECT_TRUE(done) << done.error().message;
        return done ? done->undo : Undo{};
    }
    Outcome<std::vector<std::string>> undo(const Undo& one, bool dry_run = false) {
        return take_back(
            one,
            [this](const std::string& name) -> base::Result<std::string> {
                const auto found = kept_.find(name);
                if (found == kept_.end())
                    return base::fail(base::ErrorCode::NotFound, "not kept: {}", name);
                return found->second;
            },
            dry_run);
    }
    Outcome<std::vector<std::string>> undo(const std::vector<Undo>& newest_first) {
        return undo(TRY(composed(newest_first)));
    }

    TestFolder root;
    std::map<std::string, std::string> kept_;
};

constexpr std::string_view kEverything =
    "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    "--- /dev/null\n+++ b/deep/er/new.txt\n@@ -0,0 +1 @@\n+n\n"
    "--- a/run.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    "diff --git a/from.txt b/to.txt\nrename from from.txt\nrename to to.txt\n";

std::string edit(std::string_view path, std::string_view from, std::string_view to) {
    return fmt::format("--- {0}\n+++ {0}\n@@ -1 +1 @@\n-{1}\n+{2}\n", path, from, to);
}

TEST_F(UndoTest, PutsEveryKindOfChangeBack) {
    root.write("a.txt", "one\ntwo\n", 0640);
    root.write("run.sh", "x\n", 0700);
    root.write("from.txt", "y\n");
    const auto before = root.all();
    const auto kept = applied(kEverything);
    ASSERT_NE(root.all(), before);
    const auto done = undo(kept);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(root.all(), before);
    EXPECT_THAT(*done, testing::UnorderedElementsAre("a.txt", "deep/er/new.txt", "run.sh",
                                                     "from.txt", "to.txt"));
}

TEST_F(UndoTest, CanBeMadeAgainAfterACrash) {
    root.write("a.txt", "one\ntwo\n");
    root.write("run.sh", "x\n", 0700);
    root.write("from.txt", "y\n");
    const auto before = root.all();
    const auto kept = applied(kEverything);
    // The first try had come so far.
    root.write("a.txt", "one\ntwo\n");
    ASSERT_TRUE(undo(kept));
    EXPECT_EQ(root.all(), before);
    EXPECT_THAT(undo(kept).value(), testing::IsEmpty());
    EXPECT_EQ(root.all(), before);
}

TEST_F(UndoTest, RefusesAsAWholeWhenAFileChangedSince) {
    root.write("a.txt", "one\ntwo\n");
    root.write("run.sh", "x\n");
    root.write("from.txt", "y\n");
    const auto kept = applied(kEverything);
    root.write("to.txt", "somebody else\n");
    const auto before = root.all();
    const auto refused = undo(kept);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, "changed_since");
    EXPECT_EQ(refused.error().details->at("paths"), (json::array{"to.txt"}));
    EXPECT_TRUE(refused.error().message.contains("to.txt")) << refused.error().message;
    EXPECT_EQ(root.all(), before);
}

TEST_F(UndoTest, OverwritesNothingThatTookTheOldName) {
    root.write("run.sh", "x\n");
    const auto kept = applied("--- a/run.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
    root.write("run.sh", "a new one\n");
    ASSERT_FALSE(undo(kept));
    EXPECT_EQ(root.all().at("run.sh"), "644 a new one\n");
}

TEST_F(UndoTest, KeepsAFolderThatOthersUse) {
    const auto kept = applied("--- /dev/null\n+++ b/made/new.txt\n@@ -0,0 +1 @@\n+n\n");
    root.write("made/other.txt", "theirs\n");
    ASSERT_TRUE(undo(kept));
    EXPECT_EQ(root.all(), (std::map<std::string, std::string>{{"made", "folder"},
                                                              {"made/other.txt", "644 theirs\n"}}));
}

TEST_F(UndoTest, ComposesPatchesOfOneFile) {
    root.write("a.txt", "1\n");
    const auto before = root.all();
    const auto first = applied(edit("a.txt", "1", "2"));
    const auto second = applied(edit("a.txt", "2", "3"));
    const auto third = applied("diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n");
    ASSERT_TRUE(undo(std::vector{third, second, first}));
    EXPECT_EQ(root.all(), before);
}

TEST_F(UndoTest, RefusesWhenSomethingElseChangedTheFileBetweenPatches) {
    root.write("a.txt", "1\n");
    const auto first = applied(edit("a.txt", "1", "2"));
    root.write("a.txt", "formatted\n");
    const auto second = applied(edit("a.txt", "formatted", "3"));
    const auto both = undo(std::vector{second, first});
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().kind, "changed_since");
    ASSERT_TRUE(undo(std::vector{second}));
    EXPECT_EQ(root.all().at("a.txt"), "644 formatted\n");
}

TEST_F(UndoTest, LeadsOutOfTheRootByNoLink) {
    TestFolder outside;
    outside.write("a.txt", "2\n");
    root.write("sub/a.txt", "1\n");
    const auto kept = applied(edit("sub/a.txt", "1", "2"));
    fs::remove_all(root.path() / "sub");
    fs::create_directory_symlink(outside.path(), root.path() / "sub");
    ASSERT_FALSE(undo(kept));
    EXPECT_EQ(outside.all().at("a.txt"), "644 2\n");
}

TEST_F(UndoTest, ChangesNothingWhenTheOldContentIsGoneOrForged) {
    root.write("a.txt", "1\n");
    const auto kept = applied(edit("a.txt", "1", "2"));
    for (auto& [name, bytes] : kept_) bytes = "forged";
    const auto forged = undo(kept);
    ASSERT_FALSE(forged);
    EXPECT_EQ(forged.error().kind, "undo_not_kept");
    kept_.clear();
    ASSERT_FALSE(undo(kept));
    EXPECT_EQ(root.all().at("a.txt"), "644 2\n");
}

TEST_F(UndoTest, OnlySaysWhatADryRunWouldChange) {
    root.write("a.txt", "1\n");
    const auto kept = applied(edit("a.txt", "1", "2"));
    EXPECT_THAT(undo(kept, true).value(), ElementsAre("a.txt"));
    EXPECT_EQ(root.all().at("a.txt"), "644 2\n");
}

TEST_F(UndoTest, ChangesNothingWhenTheOldContentCannotBeKept) {
    root.write("a.txt", "1\n");
    const auto refused =
        apply(edit("a.txt", "1", "2"), Format::UnifiedDiff, {root.path(), root.path()},
              [](std::string_view) -> base::Result<std::string> {
                  return base::fail(base::ErrorCode::Io, "no space left");
              });
    ASSERT_FALSE(refused);
    EXPECT_EQ(root.all().at("a.txt"), "644 1\n");
}

TEST_F(UndoTest, KeepsNothingOfAPatchThatIsTooLarge) {
    std::string many;
    for (std::size_t i = 0; i <= kUndoFilesMax; ++i)
        many += fmt::format("--- /dev/null\n+++ f{}\n@@ -0,0 +1 @@\n+n\n", i);
    const auto kept = applied(many);
    EXPECT_TRUE(kept.not_kept);
    EXPECT_TRUE(kept.files.empty());
}

}  // namespace
}  // namespace patch
