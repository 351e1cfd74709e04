#include "exec/tools/patch/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "exec/tools/patch/folder_for_test.h"

namespace patch {
namespace {

class SweepTest : public testing::Test {
protected:
    Tree tree() const { return Tree::open({folder.path(), folder.path()}).value(); }

    Change change(const std::string& path, std::optional<std::string> bytes) const {
        Change change{.spot = tree().locate(path).value()};
        if (change.spot.exists) change.before = tree().read(change.spot, "update")->status;
        if (bytes) change.after = NewFile{.bytes = *bytes, .like = change.before};
        return change;
    }

    // One of each: rewrite, delete, add, add in new folders.
    std::vector<Change> one_of_each() const {
        folder.write("modified", "old\n", 0640);
        folder.write("deleted", "bytes\n", 0755);
        return {change("modified", "new\n"), change("deleted", std::nullopt),
                change("added", "added\n"), change("deep/er/added", "deep\n")};
    }

    TestFolder folder;
};

TEST_F(SweepTest, ExecutesEveryKindOfChange) {
    const auto made = sweep(one_of_each());
    ASSERT_TRUE(made);
    EXPECT_THAT(*made, testing::ElementsAre(folder.at("deep"), folder.at("deep/er")));
    const std::map<std::string, std::string> expected{{"added", "644 added\n"},
                                                      {"deep", "folder"},
                                                      {"deep/er", "folder"},
                                                      {"deep/er/added", "644 deep\n"},
                                                      {"modified", "640 new\n"}};
    EXPECT_EQ(folder.all(), expected);
}

TEST_F(SweepTest, RestoresEverythingWhicheverStepFails) {
    const auto changes = one_of_each();
    const auto before = folder.all();
    constexpr int kSteps = 9;  // Two folders, three staged files, four targets.
    for (int failing = 1; failing <= kSteps; ++failing) {
        int steps = 0;
        const auto outcome =
            sweep(changes, [&](Step, const Spot&) { return ++steps == failing ? ENOSPC : 0; });
        ASSERT_FALSE(outcome) << failing;
        EXPECT_EQ(outcome.error().kind, "tool_execution_failed");
        EXPECT_THAT(outcome.error().message,
                    testing::HasSubstr("No space left on device. Everything already done was "
                                       "undone; no file has changed."));
        EXPECT_TRUE(base::bool_at(*outcome.error().details, "rolled_back"));
        EXPECT_EQ(folder.all(), before) << failing;
    }
    int steps = 0;
    EXPECT_TRUE(sweep(changes, [&](Step, const Spot&) { return ++steps, 0; }));
    EXPECT_EQ(steps, kSteps);
}

TEST_F(SweepTest, WorksWhereTheFileSystemCannotExchange) {
    const auto changes = one_of_each();
    const auto no_flags = [](Step step, const Spot&) {
        return step == Step::Exchange || step == Step::Place || step == Step::SetAside ? EINVAL : 0;
    };
    ASSERT_TRUE(sweep(changes, no_flags));
    EXPECT_EQ(folder.all().at("modified"), "640 new\n");
    EXPECT_EQ(folder.all().at("added"), "644 added\n");
    EXPECT_EQ(folder.all().size(), 5U);
}

TEST_F(SweepTest, UndoesATwoStepExchangeAsWell) {
    const auto changes = one_of_each();
    const auto before = folder.all();
    const auto outcome = sweep(changes, [](Step step, const Spot& spot) {
        if (step == Step::Exchange) return EINVAL;
        return step == Step::SetAside && spot.name == "deleted" ? EIO : 0;
    });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(folder.all(), before);
    const auto first = sweep(changes, [](Step step, const Spot&) {
        if (step == Step::Exchange) return EINVAL;
        return step == Step::SetAside ? EIO : 0;
    });
    ASSERT_FALSE(first);
    EXPECT_EQ(folder.all(), before);
}

TEST_F(SweepTest, LetsAnotherProcessWinThatWroteTheFileMeanwhile) {
    const auto changes = one_of_each();
    folder.write("deleted", "bytes of somebody else\n", 0600);
    const auto outcome = sweep(changes);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "file_changed");
    const std::map<std::string, std::string> expected{{"deleted", "600 bytes of somebody else\n"},
                                                      {"modified", "640 old\n"}};
    EXPECT_EQ(folder.all(), expected);
}

TEST_F(SweepTest, LetsAnotherProcessWinThatMadeTheFileMeanwhile) {
    const auto changes = one_of_each();
    folder.write("added", "theirs\n");
    const auto outcome = sweep(changes);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "file_changed");
    EXPECT_EQ(folder.all().at("added"), "644 theirs\n");
    EXPECT_EQ(folder.all().at("modified"), "640 old\n");
    EXPECT_EQ(folder.all().size(), 3U);
}

TEST_F(SweepTest, RestoresWhenATargetBecameAFolderWithFiles) {
    const auto changes = one_of_each();
    std::filesystem::remove(folder.at("deleted"));
    folder.write("deleted/inside", "x");
    const auto before = folder.all();
    ASSERT_FALSE(sweep(changes));
    EXPECT_EQ(folder.all(), before);
}

TEST_F(SweepTest, DoesNotFollowALinkPutWhereAFolderIsToBeMade) {
    TestFolder outside;
    const auto changes = one_of_each();
    std::filesystem::create_directory_symlink(outside.path(), folder.at("deep"));
    const auto before = folder.all();
    ASSERT_FALSE(sweep(changes));
    EXPECT_EQ(folder.all(), before);
    EXPECT_TRUE(outside.all().empty());
}

TEST_F(SweepTest, WritesIntoTheFolderThatWasCheckedEvenIfItsNameNowLeadsOut) {
    TestFolder outside;
    folder.write("in/x", "old\n");
    const std::vector<Change> changes{change("in/x", "new\n")};
    std::filesystem::rename(folder.at("in"), folder.at("moved"));
    outside.write("x", "precious\n");
    std::filesystem::create_directory_symlink(outside.path(), folder.at("in"));
    ASSERT_TRUE(sweep(changes));
    EXPECT_EQ(outside.all().at("x"), "644 precious\n");
    EXPECT_EQ(folder.all().at("moved/x"), "644 new\n");
}

TEST(WithExecutable, FollowsTheReadBits) {
    EXPECT_EQ(with_executable(0644, true), 0755U);
    EXPECT_EQ(with_executable(0640, true), 0750U);
    EXPECT_EQ(with_executable(0600, true), 0700U);
    EXPECT_EQ(with_executable(0755, false), 0644U);
}

}  // namespace
}  // namespace patch
