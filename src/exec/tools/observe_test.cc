#include "exec/tools/observe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/typed.h"

#include <gmock/gmock.h>

namespace domain {

static std::ostream& operator<<(std::ostream& out, const Effects& effects) {
    return out << base::json_text(base::to_json(effects));
}

}  // namespace domain

namespace tools {
namespace {

namespace fs = std::filesystem;
using domain::Effects;
using domain::PathKind;

class ObserveTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "observe_test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(std::string_view name, std::string_view bytes) const {
        fs::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name, std::ios::binary) << bytes;
    }
    // What `change` does, seen from outside.
    Effects seen(const std::function<void()>& change) const {
        const auto before = take_snapshot(folder_);
        change();
        return compare(before, take_snapshot(folder_));
    }

    fs::path folder_;
};

TEST_F(ObserveTest, SeesNothingWhereNothingChanged) {
    write("a/b/c.txt", "one");
    fs::create_symlink("nowhere", folder_ / "link");
    EXPECT_EQ(seen([] {}), Effects{});
}

TEST_F(ObserveTest, SeesFilesFoldersAndLinksThatCameAndWent) {
    write("old/file", "1");
    fs::create_symlink("nowhere", folder_ / "old/link");
    Effects expected{.side_effects_observed = true,
                     .created = {{"new", PathKind::Folder},
                                 {"new/file", PathKind::File},
                                 {"new/link", PathKind::Link}},
                     .deleted = {{"old", PathKind::Folder, false},
                                 {"old/file", PathKind::File, false},
                                 {"old/link", PathKind::Link, false}}};
    EXPECT_EQ(seen([&] {
                  write("new/file", "22");
                  fs::create_symlink("/", folder_ / "new/link");
                  fs::remove_all(folder_ / "old");
              }),
              expected);
}

TEST_F(ObserveTest, SeesChangedBytesWithTagsOfBeforeAndAfter) {
    write("a/file", "1");
    const Effects effects = seen([&] { write("a/file", "22"); });
    ASSERT_EQ(effects.modified.size(), 1u);
    const auto& change = effects.modified.front();
    EXPECT_EQ(
        effects,
        (Effects{.side_effects_observed = true,
                 .modified = {{"a/file", PathKind::File, change.before_etag, change.after_etag}}}));
    EXPECT_THAT(change.before_etag, testing::StartsWith("1-"));
    EXPECT_THAT(change.after_etag, testing::StartsWith("2-"));
}

TEST_F(ObserveTest, SeesAFileReplacedByAnotherOfTheSameSize) {
    write("file", "1");
    write("other", "2");
    const Effects effects = seen([&] { fs::rename(folder_ / "other", folder_ / "file"); });
    ASSERT_EQ(effects.modified.size(), 1u);
    EXPECT_EQ(effects.modified.front().path, "file");
    EXPECT_EQ(effects.deleted,
              (std::vector<domain::DeletedPath>{{"other", PathKind::File, false}}));
}

TEST_F(ObserveTest, SeesALinkThatNowLeadsElsewhere) {
    fs::create_symlink("a", folder_ / "link");
    const Effects effects = seen([&] {
        fs::remove(folder_ / "link");
        fs::create_symlink("bb", folder_ / "link");
    });
    ASSERT_EQ(effects.modified.size(), 1u);
    EXPECT_EQ(effects.modified.front().path, "link");
    EXPECT_EQ(effects.modified.front().kind, PathKind::Link);
}

TEST_F(ObserveTest, SeesARenameAsOneChange) {
    write("from.txt", "same");
    write("folder/kept", "k");
    EXPECT_EQ(seen([&] { fs::rename(folder_ / "from.txt", folder_ / "folder/to.txt"); }),
              (Effects{.side_effects_observed = true, .renamed = {{"from.txt", "folder/to.txt"}}}));
}

TEST_F(ObserveTest, SeesAMovedAndChangedFileAsTwoChanges) {
    write("from", "same");
    EXPECT_EQ(seen([&] {
                  fs::rename(folder_ / "from", folder_ / "to");
                  write("to", "longer");
              }),
              (Effects{.side_effects_observed = true,
                       .created = {{"to", PathKind::File}},
                       .deleted = {{"from", PathKind::File, false}}}));
}

TEST_F(ObserveTest, LeavesOutTheInternalsOfVersionControl) {
    write(".git/index", "1");
    write("sub/.git/index", "1");
    EXPECT_EQ(
        seen([&] {
            write(".git/index", "22");
            write("sub/.git/new", "1");
            write("sub/.gitignore", "x");
        }),
        (Effects{.side_effects_observed = true, .created = {{"sub/.gitignore", PathKind::File}}}));
}

TEST_F(ObserveTest, LooksThroughALinkedRootAndThroughNoOtherLink) {
    write("real/file", "1");
    write("outside/secret", "1");
    fs::create_symlink("../outside", folder_ / "real/out");
    fs::create_symlink("real", folder_ / "root");
    const auto snapshot = take_snapshot(folder_ / "root");
    EXPECT_TRUE(snapshot.complete);
    std::vector<std::string> paths;
    for (const auto& [path, stamp] : snapshot.entries) paths.push_back(path);
    EXPECT_THAT(paths, testing::UnorderedElementsAre("file", "out"));
}

TEST_F(ObserveTest, DoesNotCompareWhatIsTooLargeOrMissing) {
    for (int i = 0; i < 4; ++i) write(fmt::format("file-{}", i), "");
    EXPECT_TRUE(take_snapshot(folder_, 4).complete);
    const auto cut = take_snapshot(folder_, 3);
    EXPECT_FALSE(cut.complete);
    EXPECT_TRUE(cut.entries.empty());
    EXPECT_FALSE(take_snapshot(folder_ / "missing").complete);
    EXPECT_EQ(compare(cut, take_snapshot(folder_)), (Effects{.observed = false}));
    EXPECT_EQ(compare(take_snapshot(folder_), cut), (Effects{.observed = false}));
}

TEST_F(ObserveTest, ReportsNamesThatAreNotTextAsValidUtf8) {
    EXPECT_EQ(seen([&] { write("a\xff", ""); }),
              (Effects{.side_effects_observed = true, .created = {{"a\uFFFD", PathKind::File}}}));
}

}  // namespace
}  // namespace tools
