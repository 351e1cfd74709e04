// Undoing patches: in the console, on the command line, and after a kill.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/tui/tmux.h"

namespace e2e {
namespace {

constexpr std::string_view kPatch =
    "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    "--- /dev/null\n+++ b/made/new.txt\n@@ -0,0 +1 @@\n+new\n";

// A daemon whose agent works in the project, and its only file.
class Patched {
public:
    Patched() {
        world.write(world.repo() / "a.txt", "one\n");
        world.script(
            {calls("ApplyPatch", {{"patch", kPatch}}), says("Patched.")},
            {{"second", {calls("ApplyPatch", {{"patch", kPatch}}), says("Again.")}},
             {"third", {runs(fmt::format("read line <{}", go.path().string())), says("Done.")}}});
        world.daemon({"start"});
        EXPECT_EQ(world.run({"agent", "move", "main", world.repo().string()}).exit_code, 0);
    }
    void patch() {
        const auto answered = world.run({"prompt", "--wait", "patch it"});
        EXPECT_EQ(answered.exit_code, 0) << answered.err;
        EXPECT_EQ(text(), "two\n");
    }
    std::string text() const { return world.read(world.repo() / "a.txt"); }
    bool has_folder() const { return std::filesystem::exists(world.repo() / "made"); }

    DaemonWorld world;
    Signpost go{world.folder() / "go"};
};

TEST(Undo, IsACommandOfTheConsole) {
    Patched agent;
    Tmux tmux(agent.world, 100, 24);
    tmux.open_console();
    tmux.type("patch it");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Patched.")) << tmux.screen();
    EXPECT_EQ(agent.text(), "two\n");
    tmux.type("/undo");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Undid 1 patch in ")) << tmux.screen();
    EXPECT_TRUE(tmux.has("Patches undone: 1 patch, a.txt, made/new.txt")) << tmux.all();
    EXPECT_EQ(agent.text(), "one\n");
    EXPECT_FALSE(agent.has_folder());
    tmux.type("/undo");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("has made no patch that can be undone")) << tmux.screen();
}

TEST(Undo, TellsTheAgentInItsNextPrompt) {
    Patched agent;
    agent.patch();
    const auto prompt_now = [&] {
        return agent.world.run({"debug", "prompt", "what is in a.txt?"}).out;
    };
    EXPECT_FALSE(prompt_now().contains("patches_undone"));
    const auto undone = agent.world.json_of({"undo", "--json"});
    EXPECT_EQ(undone.at("paths"), (json::array{"a.txt", "made/new.txt"}));
    EXPECT_TRUE(prompt_now().contains("the operator undid your last patch")) << prompt_now();
    EXPECT_TRUE(prompt_now().contains(R"(before: "a.txt", "made/new.txt".)")) << prompt_now();
    EXPECT_EQ(agent.world.events("main", "patches_undone").size(), 1U);
    // The agent may make the change again, and that can be undone, too.
    const auto again = agent.world.run({"prompt", "--wait", "second"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(agent.text(), "two\n");
    EXPECT_EQ(agent.world.run({"undo"}).exit_code, 0);
    EXPECT_EQ(agent.text(), "one\n");
}

TEST(Undo, RefusesAndNamesAFileThatChangedSince) {
    Patched agent;
    agent.patch();
    agent.world.write(agent.world.repo() / "a.txt", "mine\n");
    const auto refused = agent.world.run({"undo"});
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_TRUE(refused.err.contains("a.txt changed since")) << refused.err;
    EXPECT_EQ(agent.text(), "mine\n");
    EXPECT_TRUE(agent.has_folder());
    EXPECT_EQ(agent.world.events("main", "patches_undone").size(), 0U);
}

TEST(Undo, OnlyListsWithDryRun) {
    Patched agent;
    agent.patch();
    const auto listed = agent.world.json_of({"undo", "--dry-run", "--json"});
    EXPECT_EQ(listed.at("paths"), (json::array{"a.txt", "made/new.txt"}));
    EXPECT_EQ(agent.text(), "two\n");
}

TEST(Undo, RefusesWhileTheAgentIsInATurn) {
    Patched agent;
    agent.patch();
    auto asked = agent.world.start({"prompt", "--wait", "third"});
    EXPECT_TRUE(test_support::eventually(
        [&] { return agent.world.events("main", "process_execution_requested").size() == 1U; }));
    const auto refused = agent.world.run({"undo"});
    EXPECT_TRUE(refused.err.contains("is in a turn")) << refused.err;
    EXPECT_EQ(agent.text(), "two\n");
    agent.go.send("on");
    EXPECT_EQ(asked.wait().exit_code, 0);
}

// The process was killed behind the first change; the next one finishes what it had begun.
TEST(Undo, IsFinishedAfterAKill) {
    Patched agent;
    agent.patch();
    const auto executed = agent.world.events("main", "tool_executed");
    ASSERT_EQ(executed.size(), 1U);
    const auto& data = executed.front().at("data");
    kill(agent.world.pid(), SIGKILL);
    EXPECT_TRUE(ends_within(agent.world.pid(), kPatience));
    std::filesystem::create_directory(agent.world.home() / "undo");
    const auto file = agent.world.home() / "undo" / "main.json";
    agent.world.write(
        file, base::json_text(json::object{{"agent_id", "main"},
                                           {"call_ids", json::array{data.at("tool_call_id")}},
                                           {"run_id", data.at("run_id")},
                                           {"admission", "control_authenticated"}}));
    agent.world.write(agent.world.repo() / "a.txt", "one\n");
    agent.world.daemon({"start"});
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_EQ(agent.text(), "one\n");
    EXPECT_FALSE(agent.has_folder());
    EXPECT_EQ(agent.world.events("main", "patches_undone").size(), 1U);
    EXPECT_TRUE(agent.world.run({"debug", "prompt", "go on"}).out.contains("patches_undone"));
}

}  // namespace
}  // namespace e2e
