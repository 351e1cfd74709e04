// What comes and goes over the conversation.
#include <gtest/gtest.h>

#include "tests/e2e/tui/tmux.h"

namespace e2e {
namespace {

// contract: TUI-25, TUI-26
TEST(ConsoleOverlays, CloseBeforeAnythingElseChanges) {
    DaemonWorld world;
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    for (const auto& [command, shown] : {std::pair("/agents", "> main"),
                                         {"/transcript", "no conversation"},
                                         {"/tasks", "nothing here"},
                                         {"/help", "Commands"},
                                         {"/state", "active_children"}}) {
        tmux.type(command);
        tmux.key("Enter");
        EXPECT_TRUE(tmux.shows(shown)) << command << "\n" << tmux.screen();
        tmux.key("Escape");
        EXPECT_TRUE(tmux.shows("connected")) << command << "\n" << tmux.screen();
    }
    tmux.type("half a thought");
    EXPECT_TRUE(tmux.shows("> half a thought"));
    tmux.key("PPage");
    EXPECT_TRUE(tmux.shows("Transcript")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.shows("> half a thought")) << tmux.screen();
}

// contract: TUI-12
TEST(ConsoleOverlays, ShowTheTranscript) {
    DaemonWorld world;
    world.script({runs("echo tool-output"), says("Done.")});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("look");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Done."));
    tmux.type("/transcript");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("$ echo tool-output")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("result")) << tmux.screen();
}

// contract: TUI-13
TEST(ConsoleOverlays, ShowTasksWithTheirOutputAndStopThem) {
    DaemonWorld world;
    world.daemon({"start"});
    ASSERT_EQ(world.run({"agent", "move", "main", world.repo().string()}).exit_code, 0);
    ASSERT_EQ(world.run({"task", "count sheep", "--cmd", "echo baa; sleep 1000"}).exit_code, 0);
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("/tasks");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("count sheep")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("running")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("baa")) << tmux.screen();
    tmux.type("x");
    EXPECT_TRUE(tmux.shows("asked to stop")) << tmux.screen();
    EXPECT_TRUE(tmux.hides("running")) << tmux.screen();
}

TEST(ConsoleOverlays, ShowWhatWaitsForApprovalAndAnswerIt) {
    DaemonWorld world;
    world.daemon({"start"});
    const auto ask = [&](std::string_view goal, std::string_view cmd) {
        const auto file = world.folder() / "plan.json";
        const json::object step{{"id", "one"}, {"tool", "ExecCommand"}, {"args", {{"cmd", cmd}}}};
        world.write(file, base::json_text(json::object{{"version", "1.0"},
                                                       {"goal", goal},
                                                       {"riskLevel", "commands"},
                                                       {"steps", json::array{step}}}));
        const auto asked = world.run({"plan", "run", file.string(), "--vault", "."});
        EXPECT_EQ(asked.exit_code, 5) << asked.err;
        return base::string_at(world.json_of({"plan", "status", "last"}), "runId");
    };
    const auto wanted = ask("Write it down", "echo noted > note.txt");
    Tmux tmux(world, 100, 30);
    tmux.open_console();
    tmux.type("/approvals");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Write it down")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("$ echo noted > note.txt")) << tmux.screen();
    tmux.type("y");
    EXPECT_TRUE(tmux.shows("Allowed")) << tmux.screen();
    EXPECT_TRUE(tmux.hides("Write it down")) << tmux.screen();
    EXPECT_EQ(world.run({"plan", "resume", wanted}).exit_code, 0);
    EXPECT_EQ(world.read(world.repo() / "note.txt"), "noted\n");

    // What is asked meanwhile appears by itself.
    const auto unwanted = ask("Remove it", "rm note.txt");
    EXPECT_TRUE(tmux.shows("$ rm note.txt")) << tmux.screen();
    tmux.type("n");
    EXPECT_TRUE(tmux.shows("Rejected")) << tmux.screen();
    EXPECT_NE(world.run({"plan", "resume", unwanted}).exit_code, 0);
    EXPECT_EQ(world.read(world.repo() / "note.txt"), "noted\n");
}

// contract: TUI-18
TEST(ConsoleOverlays, ShowTheDebugPrompt) {
    DaemonWorld world;
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("/debug-prompt where is the zebra?");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("instruction_sources")) << tmux.screen();
    tmux.key("End");
    EXPECT_TRUE(tmux.shows("zebra")) << tmux.screen();
}

// contract: TUI-22
TEST(ConsoleOverlays, ListRawEvents) {
    DaemonWorld world;
    world.script({says("Done.")});
    world.daemon({"start"});
    Tmux tmux(world, 120, 40);
    tmux.open_console();
    tmux.type("go");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Done."));
    tmux.type("/events");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("agent_state_changed")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("provider_round_completed")) << tmux.screen();
}

// contract: TUI-09
TEST(ConsoleOverlays, SwitchToAnotherAgent) {
    DaemonWorld world;
    world.daemon({"start"});
    ASSERT_EQ(world.run({"agent", "create", "helper"}).exit_code, 0);
    Tmux tmux(world);
    tmux.open_console("--agent main");
    EXPECT_TRUE(tmux.shows("main · ")) << tmux.screen();
    tmux.type("/agents");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("helper")) << tmux.screen();
    tmux.type("help");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("helper · ")) << tmux.screen();
}

// contract: TUI-08, TUI-15
TEST(ConsoleOverlays, ShowChildrenBelowTheirParents) {
    DaemonWorld world;
    Signpost go(world.folder() / "go");
    world.script(
        {calls("SpawnAgent", {{"initial_message", "child work"}, {"workspace_mode", "inherit"}}),
         says("Delegated.")},
        {{"Background task", {says("Noted.")}},
         {"child work",
          {runs(fmt::format("read line <{}", go.path().string())), says("Child done.")}}});
    world.daemon({"start"});
    Tmux tmux(world, 120, 30);
    tmux.open_console();
    tmux.type("delegate");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Delegated.")) << tmux.all();
    const auto summary = world.json_of({"status"});
    const auto* children = base::find(summary, "active_children");
    ASSERT_TRUE(children && children->is_array() && !children->get_array().empty());
    const auto* identity = base::find(children->get_array()[0], "identity");
    ASSERT_NE(identity, nullptr);
    const std::string child = base::string_at(*identity, "agent_id").substr(0, 12);
    ASSERT_NE(child, "");
    tmux.type("/agents");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("main  ")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("  " + child)) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.shows("connected")) << tmux.screen();
    tmux.key("C-d");
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    go.send("yes");
    EXPECT_TRUE(test_support::eventually(
        [&] { return !world.events("main", "task_result_received").empty(); }));
}

}  // namespace
}  // namespace e2e
