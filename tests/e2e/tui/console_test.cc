// The console as an operator uses it: conversation, composer, modes, leaving.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/tui/tmux.h"

namespace e2e {
namespace {

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

// contract: TUI-01, TUI-09, TUI-23, TUI-24
TEST(Console, SendsALineAndShowsTheAnswer) {
    DaemonWorld world;
    world.script({says("The answer is **forty-two**.")});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    EXPECT_TRUE(tmux.shows("main")) << tmux.screen();
    tmux.type("what is the answer?");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("✓ The answer is forty-two.")) << tmux.screen();
    EXPECT_EQ(count_of(tmux.all(), "› what is the answer?"), 1U) << tmux.all();
    EXPECT_EQ(world.events("main", "message_enqueued").size(), 1U);
}

// contract: TUI-02, TUI-03, TUI-04
TEST(Console, StartsTheDaemonAndOwnsNoRuntime) {
    DaemonWorld world;
    Tmux tmux(world);
    tmux.open_console();
    EXPECT_TRUE(tmux.has("one was started")) << tmux.all();
    const pid_t daemon = world.pid();
    ASSERT_GT(daemon, 0);
    EXPECT_NE(daemon, tmux.console());
    // The console has no file of the store open, and one socket to the runtime's.
    const std::string folder = fmt::format("/proc/{}/fd", tmux.console());
    for (const auto& fd : std::filesystem::directory_iterator(folder)) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(fd.path(), gone);
        EXPECT_FALSE(target.contains("holon.db")) << target;
    }
    tmux.key("C-d");
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    EXPECT_TRUE(is_alive(daemon));
}

TEST(Console, OpensWithoutArgumentsOnATerminal) {
    DaemonWorld world;
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.run("");
    EXPECT_TRUE(tmux.shows("connected")) << tmux.screen();
}

// contract: TUI-05, TUI-06
TEST(Console, StopsNothingWhenItIsClosed) {
    DaemonWorld world;
    Signpost go(world.folder() / "go");
    world.script({runs(fmt::format("read line <{}; echo $line >finished", go.path().string())),
                  says("Waited.")});
    world.daemon({"start"});
    ASSERT_EQ(world.run({"agent", "move", "main", world.repo().string()}).exit_code, 0);
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("wait for it");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("read line")) << tmux.screen();
    tmux.key("C-c");
    tmux.key("C-c");
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    EXPECT_TRUE(base::bool_at(world.daemon({"status"}), "ok"));
    go.send("yes");
    EXPECT_TRUE(
        test_support::eventually([&] { return world.read(world.repo() / "finished") == "yes\n"; }));
}

// contract: TUI-07
TEST(Console, StopsNoTimerWhenItIsClosed) {
    DaemonWorld world;
    world.script({says("Ticked.")});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    ASSERT_EQ(world.run({"timer", "--after", "1s", "--every", "2s", "--summary", "tick"}).exit_code,
              0);
    kill(tmux.console(), SIGTERM);
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    const auto fired = world.events("main", "timer_fired").size();
    EXPECT_TRUE(test_support::eventually(
        [&] { return world.events("main", "timer_fired").size() > fired; }));
}

// contract: TUI-10
TEST(Console, TakesTextWhileOutputArrives) {
    DaemonWorld world;
    Signpost go(world.folder() / "go");
    world.script(
        {runs(fmt::format("read line <{}", go.path().string())), says("First."), says("Second.")});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("one");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("read line"));
    tmux.type("half a thou");
    EXPECT_TRUE(tmux.shows("> half a thou"));
    go.send("yes");
    EXPECT_TRUE(tmux.has("✓ First.")) << tmux.screen();
    tmux.type("ght");
    EXPECT_TRUE(tmux.shows("> half a thought")) << tmux.screen();
}

// contract: TUI-11
TEST(Console, ShowsNoToolsInInfo) {
    DaemonWorld world;
    world.script({runs("echo tool-noise", "let me look"), says("All good.")});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("check it");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ All good."));
    EXPECT_TRUE(tmux.hides("thinking"));
    EXPECT_FALSE(tmux.all().contains("tool-noise")) << tmux.all();
    EXPECT_FALSE(tmux.all().contains("let me look")) << tmux.all();
}

// contract: TUI-20, TUI-21
TEST(Console, SwitchesItsDisplayMode) {
    DaemonWorld world;
    world.script({runs("echo one"), says("First.")},
                 {{"turn-two", {runs("echo two"), says("Second.")}}});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("/display trace");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("no display mode trace")) << tmux.screen();
    tmux.key("C-c");
    tmux.type("/display 9");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("no display mode 9")) << tmux.screen();
    tmux.key("C-c");
    tmux.type("one");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ First."));
    EXPECT_FALSE(tmux.all().contains("$ echo one → exit 0"));
    tmux.type("/display 4");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Display mode verbose")) << tmux.screen();
    tmux.type("turn-two");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Second."));
    EXPECT_TRUE(tmux.has("✓ $ echo two → exit 0")) << tmux.all();
    tmux.type("/display info");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Display mode info")) << tmux.screen();
}

// contract: TUI-14
TEST(Console, ShowsWhereTheAgentWorks) {
    DaemonWorld world;
    world.daemon({"start"});
    Tmux tmux(world, 120, 24);
    tmux.open_console();
    EXPECT_TRUE(tmux.shows("canonical root, ")) << tmux.screen();
    ASSERT_EQ(world.run({"agent", "move", "main", world.repo().string()}).exit_code, 0);
    EXPECT_TRUE(tmux.shows("~/repo · canonical root, ")) << tmux.screen();
}

// contract: TUI-16, TUI-17
TEST(Console, AttachesEntersAndLeavesAWorkspace) {
    DaemonWorld world;
    world.daemon({"start"});
    Tmux tmux(world, 120, 24);
    tmux.open_console();
    std::filesystem::create_directory(world.folder() / "other");
    tmux.type("/attach ../other");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Attached " + (world.folder() / "other").string())) << tmux.screen();
    EXPECT_EQ(world.events("main", "workspace_attached").size(), 1U);
    tmux.type("/enter ../other");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("~/other · ")) << tmux.screen();
    tmux.type("/leave");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.hides("~/other · ")) << tmux.screen();
}

TEST(Console, InterruptsATurnAndLeavesTheAgentReady) {
    DaemonWorld world;
    Signpost go(world.folder() / "go");
    world.script({runs(fmt::format("read line <{}", go.path().string())), says("Never said.")},
                 {{"second", {says("Here again.")}}});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("first");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("read line"));
    tmux.key("Escape");
    EXPECT_TRUE(tmux.shows("Press Esc again")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.shows("the agent is ready")) << tmux.screen();
    tmux.type("second");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Here again.")) << tmux.screen();
}

TEST(Console, KeepsTheDraftOfAFailedSend) {
    DaemonWorld world;
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    ASSERT_EQ(world.run({"agent", "stop", "main"}).exit_code, 0);
    tmux.type("are you there?");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Not sent: ")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("> are you there?")) << tmux.screen();
}

TEST(Console, RefusesWhatIsNoTerminal) {
    DaemonWorld world;
    const auto piped = world.run({"tui"});
    EXPECT_EQ(piped.exit_code, 1);
    EXPECT_NE(piped.err.find("needs a terminal"), std::string::npos) << piped.err;
    Tmux tmux(world);
    tmux.type("TERM=dumb");
    tmux.key("Enter");
    tmux.run("tui");
    EXPECT_TRUE(tmux.shows("cannot move its cursor (TERM=dumb)")) << tmux.screen();
    EXPECT_EQ(world.pid(), 0);
}

// contract: DIAG-01, DIAG-06
TEST(Console, HasItsPlaceInTheOrderOfTroubleshooting) {
    DaemonWorld world;
    const std::string text = world.read(std::filesystem::path(HOLON_DOCS) / "operations.md");
    std::size_t at = text.find("## When something is wrong");
    ASSERT_NE(at, std::string::npos);
    for (const auto* command :
         {"1. `holon run --json", "2. `holon daemon status`", "3. `holon daemon logs`",
          "4. `holon status`, `holon tail`, `holon transcript`", "5. `holon tui`",
          "6. `holon serve`"}) {
        at = text.find(command, at);
        ASSERT_NE(at, std::string::npos) << command;
    }
    const std::string console = text.substr(text.find("5. `holon tui`"), 250);
    EXPECT_TRUE(console.contains("known to be")) << console;
    EXPECT_TRUE(console.contains("It is no health probe.")) << console;
    for (const std::vector<std::string>& words : {std::vector<std::string>{"run"},
                                                  {"daemon", "status"},
                                                  {"daemon", "logs"},
                                                  {"status"},
                                                  {"tail"},
                                                  {"transcript"},
                                                  {"tui"},
                                                  {"serve"}}) {
        auto help = words;
        help.insert(help.begin(), "help");
        EXPECT_EQ(world.run(help).exit_code, 0) << words.front();
    }
}

}  // namespace
}  // namespace e2e
