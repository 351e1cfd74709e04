// A call is cut off by SIGKILL at any of its changes; the next process settles it.
#include "exec/tools/vault/changes/recover.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>

#include "base/ids.h"
#include "exec/results/artifacts.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/vault/changes/write.h"
#include "exec/tools/vault/decide.h"

namespace vault {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class RecoverTest : public testing::Test {
protected:
    RecoverTest() {
        folder_.write("v/a.md", "a");
        folder_.write("v/b.md", "b");
        folder_.write("v/c.md", "c");
    }

    Files all() {
        Files out;
        for (const auto& [path, text] : folder_.all())
            if (path.starts_with("v/")) out[path.substr(2)] = text;
        return out;
    }
    // Executes `steps` in a child that is killed when `count` of them are done. Nothing is recorded
    // of the call's end.
    void die_after(const std::vector<Step>& steps, std::size_t count) {
        const pid_t child = ::fork();
        if (child == 0) {
            const Root root = Root::open(folder_.at("v")).value();
            FileLocks locks;
            Intents intents(run_, "call-1");
            Performed folders;
            const Means means{.root = root, .locks = locks, .sink = &sink_, .intents = &intents};
            (void)perform(means, std::span(steps).first(count), folders);
            ::kill(::getpid(), SIGKILL);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status));
    }
    Recovery recovered() {
        const Root root = Root::open(folder_.at("v")).value();
        return recover(root, run_, "call-1").value();
    }

    patch::TestFolder folder_;
    fs::path run_{folder_.path() / "run"};
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    results::FileArtifacts sink_{folder_.path() / "run/tool-artifacts", "before", ids_};
    const std::vector<Step> steps_{
        MakeFolder{"d"},        CreateFile{"d/n.md", "n"},      ModifyFile{"a.md", "a", "A"},
        Move{"b.md", "d/b.md"}, ModifyFile{"d/b.md", "b", "B"}, RemoveFile{"c.md", etag("c")}};
};

TEST_F(RecoverTest, TakesBackWhatAKilledCallHadDone) {
    const Files before = all();
    for (std::size_t count = 0; count <= steps_.size(); ++count) {
        SCOPED_TRACE(count);
        die_after(steps_, count);
        EXPECT_TRUE(std::holds_alternative<NotMade>(recovered()));
        EXPECT_EQ(all(), before);
        EXPECT_TRUE(std::holds_alternative<NotMade>(recovered())) << "again";
        EXPECT_EQ(all(), before);
    }
}

TEST_F(RecoverTest, ACallThatNotedItsEndWasMade) {
    Intents intents(run_, "call-1");
    ASSERT_TRUE(intents.add({.entry = {.action = Action::Mkdir, .path = "x"}}));
    const Ending ending{.summary = "Done", .result = {{"path", "x"}}};
    intents.end(ending);
    const auto found = recovered();
    ASSERT_TRUE(std::holds_alternative<Made>(found));
    EXPECT_EQ(std::get<Made>(found).ending, ending);
}

// Another call that changed the file in between would make the two look like one.
TEST_F(RecoverTest, AFileIsHeldUntilTheEndOfItsCallIsNoted) {
    const Root root = Root::open(folder_.at("v")).value();
    Decision decision{.path = "a.md"};
    decision.steps.push_back(ModifyFile{"a.md", "a", "A"});
    const std::atomic<bool> stop{true};
    int noted = 0;
    Execution how;
    how.on_done = [&](const Done&) {
        ++noted;
        EXPECT_FALSE(FileLocks::hold(root, {"a.md"}, &stop)) << "it would have to wait";
    };
    ASSERT_TRUE(execute(root, [&](bool) -> Outcome<Decision> { return decision; }, sink_, how));
    EXPECT_EQ(noted, 1);
    EXPECT_TRUE(FileLocks::hold(root, {"a.md"}, &stop));
}

TEST_F(RecoverTest, RemovesTheTemporaryFileOfAChangeThatWasNotMade) {
    Files before = all();
    const std::string name = std::string(".holon-write-call-1-0");
    folder_.write("v/" + name, "half");
    Intents intents(run_, "call-1");
    ASSERT_TRUE(
        intents.add({.entry = {.action = Action::Modify, .path = "a.md", .beforeEtag = etag("a")},
                     .temporary = name}));
    EXPECT_TRUE(std::holds_alternative<NotMade>(recovered()));
    EXPECT_EQ(all(), before);
}

TEST_F(RecoverTest, WhatOthersChangedSinceStaysAndIsLeftToRevert) {
    die_after({CreateFile{"n.md", "n"}, ModifyFile{"a.md", "a", "A"}}, 2);
    {
        const base::Fd file(::open(folder_.at("v/a.md").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        ASSERT_TRUE(base::write_all(file.get(), "theirs"));
    }
    const auto found = recovered();
    ASSERT_TRUE(std::holds_alternative<Unsettled>(found));
    ASSERT_EQ(std::get<Unsettled>(found).undo.size(), 1U);
    EXPECT_EQ(std::get<Unsettled>(found).undo[0].path, "a.md");
    EXPECT_EQ(all().at("a.md"), "644 Atheirs");
    EXPECT_FALSE(all().contains("n.md"));
}

TEST_F(RecoverTest, AFolderThatOthersFilledStaysAndBelongsToTheNextTry) {
    die_after({MakeFolder{"d"}}, 1);
    folder_.write("v/d/theirs.md", "x");
    const auto found = recovered();
    ASSERT_TRUE(std::holds_alternative<NotMade>(found));
    const auto& folders = std::get<NotMade>(found).folders;
    ASSERT_EQ(folders.undo.size(), 1U);
    EXPECT_EQ(folders.undo[0].path, "d");
    // Nor is it forgotten when the next process dies before it makes the call again.
    const auto again = recovered();
    ASSERT_TRUE(std::holds_alternative<NotMade>(again));
    EXPECT_EQ(std::get<NotMade>(again).folders.undo, folders.undo);
}

// After a power cut the last lines may be missing, so nothing is claimed.
TEST_F(RecoverTest, AnotherBootLeavesTheOutcomeOfAnUnfinishedCallUnknown) {
    fs::create_directories(run_);
    folder_.write("run/changes.jsonl", "{\"boot\":\"another\"}\n");
    EXPECT_TRUE(std::holds_alternative<Unsettled>(recovered()));
    EXPECT_TRUE(std::holds_alternative<Unsettled>(recovered())) << "again";
    ASSERT_TRUE(Intents(run_, "call-2").reset());
    EXPECT_TRUE(std::holds_alternative<NotMade>(recovered())) << "calls of this boot";
}

}  // namespace
}  // namespace vault
