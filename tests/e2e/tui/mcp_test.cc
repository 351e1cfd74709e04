// MCP servers in the console: their prompts, and what they ask the operator.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/tui/tmux.h"

namespace e2e {
namespace {

class ConsoleMcp : public testing::Test {
protected:
    void serve(json::array args) {
        std::filesystem::create_directories(world.home());
        const json::object server{{"command", "/usr/bin/python3"}, {"args", std::move(args)}};
        world.write(world.home() / "config.json",
                    base::json_text(json::object{{"mcp", {{"servers", {{"test", server}}}}}}));
        world.daemon({"start"});
        const auto kept = world.home() / "cache" / "mcp" / "test.json";
        ASSERT_TRUE(test_support::eventually([&] { return std::filesystem::exists(kept); }));
    }
    // What the newest call came back with.
    std::string result(const std::string& agent) {
        const auto results =
            of_kind(world.json_of({"transcript", "--agent", agent}), "tool_results");
        if (results.empty()) return "";
        return base::string_at(results.back().at("data").at("results").at(0), "content");
    }
    DaemonWorld world;
};

TEST_F(ConsoleMcp, AFormIsFilledInAndAnswered) {
    world.script({calls("mcp__test__form", json::object{}), says("Asked.")});
    serve({HOLON_MCP_ASKING_SERVER, "session"});
    Tmux tmux(world, 40, 24);
    tmux.open_console();
    tmux.type("go");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("1 question (/approvals)")) << tmux.screen();
    tmux.type("/approvals");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Who are you?")) << tmux.screen();
    tmux.type("y");
    EXPECT_TRUE(tmux.shows("(needed)")) << tmux.screen();
    tmux.type("Ada 漢字");
    tmux.key("Enter");
    tmux.key("Enter");
    tmux.key("Right");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Answered")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.has("✓ Asked.")) << tmux.all();
    EXPECT_TRUE(tmux.hides("question (/approvals)")) << tmux.screen();
    EXPECT_TRUE(result("main").contains(R"("age": 30)")) << result("main");
    EXPECT_TRUE(result("main").contains(R"("tall": false)")) << result("main");
}

// The console hears of what another agent's call leads to, and asks for nothing meanwhile.
TEST_F(ConsoleMcp, AQuestionOfAnotherAgentIsHeardAndDeclined) {
    world.script({calls("mcp__test__url", json::object{}), says("Asked.")});
    serve({HOLON_MCP_ASKING_SERVER, "session"});
    Tmux tmux(world);
    tmux.open_console();
    auto running = world.start({"run", "--agent", "k", "--create-agent", "go"});
    EXPECT_TRUE(tmux.shows("The MCP server test asks you something")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("1 question (/approvals)")) << tmux.screen();
    tmux.type("/approvals");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("https://pay.example/1")) << tmux.screen();
    tmux.type("n");
    EXPECT_TRUE(tmux.shows("Declined")) << tmux.screen();
    const auto ended = running.wait();
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_TRUE(result("k").contains("decline")) << result("k");
    tmux.key("Escape");
    EXPECT_TRUE(tmux.hides("question (/approvals)")) << tmux.screen();
}

TEST_F(ConsoleMcp, APromptBecomesADraftAndIsSentByTheOperator) {
    world.script({says("Sorted.")});
    serve({HOLON_MCP_ASKING_SERVER, "session"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("/mcp:");
    EXPECT_TRUE(tmux.shows("/mcp:test:triage")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("Sorts an issue.")) << tmux.screen();
    tmux.key("Tab");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("triage needs issue=")) << tmux.screen();
    tmux.type("12");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("> Sort issue 12.")) << tmux.screen();
    EXPECT_TRUE(world.events("main", "message_enqueued").empty());
    tmux.type(" Quickly.");
    EXPECT_TRUE(tmux.shows("> Sort issue 12. Quickly.")) << tmux.screen();
    EXPECT_TRUE(test_support::eventually([&] {
        tmux.key("Enter");
        return !world.events("main", "message_enqueued").empty();
    }));
    EXPECT_TRUE(tmux.has("✓ Sorted.")) << tmux.all();
    EXPECT_TRUE(tmux.all().contains("› Sort issue 12. Quickly.")) << tmux.all();
}

// The server hangs when it is asked for its prompts: the console does not, not even at its end.
TEST_F(ConsoleMcp, ASlowServerDelaysNothing) {
    world.script({says("Quick.")});
    serve({HOLON_MCP_ASKING_SERVER, "hanging"});
    Tmux tmux(world);
    tmux.open_console();
    tmux.type("/mcp:test:triage issue=1");
    EXPECT_TRUE(tmux.shows("> /mcp:test:triage issue=1")) << tmux.screen();
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Asking the MCP server test")) << tmux.screen();
    tmux.type("hello");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.has("✓ Quick.")) << tmux.all();
    const pid_t console = tmux.console();
    tmux.key("C-d");
    EXPECT_TRUE(ends_within(console, std::chrono::seconds(30)));
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
}

}  // namespace
}  // namespace e2e
