// The console on real terminals: widths, resizes, pastes, crashes, bytes.
#include <csignal>

#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "tests/e2e/tui/tmux.h"

namespace e2e {
namespace {

const std::string kAnswer =
    "# 見出し\n\nこれは長い日本語の文章です。とても長いので、狭い端末では折り返されます。\n\n"
    "- first 👍\n- second, which is long enough to be wrapped on a terminal of forty columns\n";

// contract: TUI-19
TEST(ConsoleScreen, StaysInTheScrollbackAndNeverClears) {
    DaemonWorld world;
    world.script({says("One.")}, {{"second", {says("Two.")}}});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.record();
    tmux.open_console("--no-alt-screen");
    for (const auto* text : {"first", "second"}) {
        tmux.type(text);
        tmux.key("Enter");
        EXPECT_TRUE(tmux.has(text == std::string_view("first") ? "✓ One." : "✓ Two."));
    }
    tmux.type("/help");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Commands")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.hides("Commands"));
    tmux.key("C-d");
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    const std::string bytes = tmux.recorded();
    for (const auto* sequence : {"\x1b[?1049h", "\x1b[?47h", "\x1b[?1047h", "\x1b[2J", "\x1b[3J",
                                 "\x1b[?1000h", "\x1b[?1002h", "\x1b[?1003h"})
        EXPECT_EQ(bytes.find(sequence), std::string::npos) << (sequence + 1);
    EXPECT_TRUE(tmux.all().contains("› first")) << tmux.all();
    EXPECT_TRUE(tmux.all().contains("✓ Two.")) << tmux.all();
}

TEST(ConsoleScreen, UsesTheWholeTerminalWhenAsked) {
    DaemonWorld world;
    world.script({says("One.")});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console("--fullscreen");
    tmux.type("first");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("✓ One.")) << tmux.screen();
    tmux.key("C-d");
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    EXPECT_FALSE(tmux.all().contains("✓ One.")) << tmux.all();
}

class ConsoleWidth : public testing::TestWithParam<int> {};

TEST_P(ConsoleWidth, ShowsWideCharactersWhole) {
    DaemonWorld world;
    world.script({says(kAnswer)});
    world.daemon({"start"});
    Tmux tmux(world, GetParam(), 24);
    tmux.open_console();
    tmux.type("説明して");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ ")) << tmux.screen();
    const std::string text = tmux.all();
    EXPECT_TRUE(text.contains("› 説明して")) << text;
    EXPECT_TRUE(text.contains("これは長い日本語の")) << text;
    for (const auto line : base::split_lines(text))
        EXPECT_LE(show::columns_of(line), static_cast<std::size_t>(GetParam())) << line;
}

INSTANTIATE_TEST_SUITE_P(Columns, ConsoleWidth, testing::Values(40, 80, 120));

TEST(ConsoleScreen, SurvivesAResizeAtAnyMoment) {
    DaemonWorld world;
    world.script({says(kAnswer)}, {{"a draft", {says("Still here.")}}});
    world.daemon({"start"});
    Tmux tmux(world, 100, 30);
    tmux.open_console();
    tmux.type("first");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("second, which")) << tmux.screen();
    tmux.type("a draft that is a bit longer than forty columns are wide");
    EXPECT_TRUE(tmux.shows("columns are wide"));
    for (const auto& [columns, rows] : {std::pair(40, 24), {120, 40}, {60, 10}, {80, 24}}) {
        tmux.resize(columns, rows);
        EXPECT_TRUE(tmux.shows("are wide")) << columns << "\n" << tmux.screen();
        EXPECT_TRUE(tmux.shows("main · ")) << columns << "\n" << tmux.screen();
    }
    // The viewport is on the screen once.
    const std::string screen = tmux.screen();
    EXPECT_EQ(screen.find("a draft that"), screen.rfind("a draft that")) << screen;
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Still here.")) << tmux.screen();
}

TEST(ConsoleScreen, SurvivesAResizeWhileTheAgentWorks) {
    DaemonWorld world;
    Signpost go(world.folder() / "go");
    world.script({runs(fmt::format("echo 日本; read line <{}  # {}", go.path().string(),
                                   std::string(60, 'x'))),
                  says("Waited.")});
    world.daemon({"start"});
    Tmux tmux(world, 80, 24);
    tmux.open_console();
    tmux.type("wait for it");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("$ echo")) << tmux.screen();
    tmux.type("and then");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("› and then [queued]")) << tmux.screen();
    for (const auto& [columns, rows] : {std::pair(50, 20), {100, 30}, {40, 15}, {80, 24}}) {
        tmux.resize(columns, rows);
        EXPECT_TRUE(test_support::eventually([&] {
            const std::string all = tmux.all();
            return all.contains("› and then [queued]") &&
                   all.find("› and then [queued]") == all.rfind("› and then [queued]");
        })) << columns
            << "\n"
            << tmux.all();
    }
    go.send("yes");
    EXPECT_TRUE(tmux.has("✓ Waited.")) << tmux.screen();
}

TEST(ConsoleScreen, TakesAPasteOfAMegabyte) {
    DaemonWorld world;
    world.script({says("Got it.")});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    constexpr std::size_t kBytes = 1'000'000;  // A message may have a little more.
    std::string text;
    while (text.size() < kBytes) text += fmt::format("line {}\n", text.size());
    text += "the last line";
    tmux.paste(text);
    EXPECT_TRUE(tmux.shows("lines")) << tmux.screen();
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Got it.")) << tmux.screen();
    const auto sent = world.events("main", "message_enqueued");
    ASSERT_EQ(sent.size(), 1U);
    const auto* body = base::find(*base::find(sent[0], "data"), "body");
    ASSERT_NE(body, nullptr);
    EXPECT_EQ(base::string_at(*body, "text"), text);
}

TEST(ConsoleScreen, LeavesAUsableTerminalAfterASignal) {
    DaemonWorld world;
    world.daemon({"start"});
    Tmux tmux(world);
    for (const int signal : {SIGTERM, SIGHUP, SIGABRT}) {
        tmux.open_console();
        kill(tmux.console(), signal);
        EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
        tmux.type(fmt::format("echo it-{}-echoes", signal));
        EXPECT_TRUE(tmux.shows(fmt::format("echo it-{}-echoes", signal))) << tmux.screen();
        tmux.key("Enter");
        EXPECT_TRUE(tmux.shows(fmt::format("\nit-{}-echoes", signal))) << tmux.screen();
    }
}

TEST(ConsoleScreen, StartsAgainAfterItWasKilled) {
    DaemonWorld world;
    world.script({says("Hello again.")});
    world.daemon({"start"});
    const pid_t daemon = world.pid();
    Tmux tmux(world);
    tmux.open_console();
    kill(tmux.console(), SIGKILL);
    EXPECT_TRUE(tmux.shows("Killed")) << tmux.screen();
    EXPECT_EQ(world.pid(), daemon);
    // Nobody has to type "reset" blindly: the modes are undone for it.
    EXPECT_TRUE(test_support::eventually([&] {
        tmux.key("Enter");
        const std::string screen = tmux.screen();
        return screen.find("shell>", screen.find("shell>", screen.find("Killed")) + 1) !=
               std::string::npos;
    })) << tmux.screen();
    tmux.type("echo it-echoes");
    EXPECT_TRUE(tmux.shows("echo it-echoes")) << tmux.screen();
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("\nit-echoes")) << tmux.screen();
    tmux.type("clear\n");
    EXPECT_TRUE(tmux.hides("connected")) << tmux.screen();
    tmux.open_console();
    tmux.type("hello");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Hello again.")) << tmux.screen();
}

TEST(ConsoleScreen, ReconnectsToARestartedDaemon) {
    DaemonWorld world;
    world.script({says("Before.")}, {{"a draft", {says("After.")}}});
    world.daemon({"start"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("one");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Before."));
    world.daemon({"stop"});
    EXPECT_TRUE(tmux.shows("reconnecting")) << tmux.screen();
    tmux.type("a draft");
    EXPECT_TRUE(tmux.shows("> a draft")) << tmux.screen();
    world.daemon({"start"});
    EXPECT_TRUE(tmux.shows("· connected")) << tmux.screen();
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("› a draft")) << tmux.screen();
    EXPECT_TRUE(tmux.has("✓ After.")) << tmux.screen();
}

TEST(ConsoleScreen, TwoConsolesShowOneAgent) {
    DaemonWorld world;
    world.script({says("Both see this.")});
    world.daemon({"start"});
    Tmux one(world, 80, 24);
    Tmux other(world, 60, 24);
    one.open_console();
    other.open_console();
    one.type("from the first");
    one.key("Enter");
    for (auto* tmux : {&one, &other}) {
        EXPECT_TRUE(tmux->has("› from the first")) << tmux->screen();
        EXPECT_TRUE(tmux->has("✓ Both see this.")) << tmux->screen();
    }
}

}  // namespace
}  // namespace e2e
