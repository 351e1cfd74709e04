// A daemon with MCP servers: it does not wait for them, and its turns use them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/daemon/daemon_world.h"
#include "tests/mcp/script_server.h"

namespace e2e {
namespace {

class McpDaemon : public testing::Test {
protected:
    void configure(const std::filesystem::path& script) {
        std::filesystem::create_directories(world.home());
        world.write(world.home() / "config.json",
                    base::json_text(json::object{
                        {"mcp",
                         {{"servers",
                           {{"test", {{"command", "/bin/sh"}, {"args", {script.string()}}}}}}}}}));
    }
    std::string run(std::string_view text) {
        return base::string_at(
            world.json_of({"run", "--json", "--agent", "k", "--create-agent", std::string(text)}),
            "final_text");
    }

    DaemonWorld world;
};

TEST_F(McpDaemon, StartsBesideItsServersAndCallsThemWhenTheyAreReady) {
    const auto script = world.folder() / "server.sh";
    Signpost gate(world.folder() / "gate");
    world.write(script, fmt::format("read line < {}\nexec /usr/bin/python3 {}\n",
                                    gate.path().string(), HOLON_MCP_SERVER));
    configure(script);
    world.script({says("Without tools."), says("Ready.")});
    // Nobody has opened the gate: neither the daemon nor a turn waits for the server.
    world.daemon({"start"});
    EXPECT_EQ(run("first"), "Without tools.");

    gate.send("go");
    const auto kept = world.home() / "cache" / "mcp" / "test.json";
    EXPECT_TRUE(test_support::eventually([&] { return std::filesystem::exists(kept); }));
    world.script({calls("mcp__test__echo", {{"text", "from the server"}}), says("Called.")});
    world.daemon({"restart"});
    gate.send("go");
    EXPECT_EQ(run("second"), "Called.");
    const auto results = of_kind(world.json_of({"transcript", "--agent", "k"}), "tool_results");
    ASSERT_FALSE(results.empty());
    EXPECT_EQ(base::string_at(results.back().at("data").at("results").at(0), "content"),
              "from the server");
}

TEST_F(McpDaemon, AServerThatSomebodyLogsInToIsOfferedWithoutARestart) {
    const test_support::ScriptServer server{HOLON_MCP_OAUTH_SERVER, "plain"};
    std::filesystem::create_directories(world.home());
    world.write(world.home() / "config.json",
                base::json_text(json::object{
                    {"mcp", {{"servers", {{"tracker", {{"url", server.url() + "/mcp"}}}}}}}}));
    world.script({calls("mcp__tracker__echo", {{"text", "from the tracker"}}), says("Asked.")});
    world.daemon({"start"});
    const auto last_result = [&] {
        const auto results = of_kind(world.json_of({"transcript", "--agent", "k"}), "tool_results");
        return base::string_at(results.back().at("data").at("results").at(0), "content");
    };
    EXPECT_EQ(run("first"), "Asked.");
    EXPECT_THAT(last_result(), testing::HasSubstr("tool_not_exposed_for_round"));

    auto login = world.start({"mcp", "login", "tracker"});
    std::string url;
    ASSERT_TRUE(test_support::eventually([&] {
        const auto err = login.err_so_far();
        const auto begin = err.find(server.url() + "/authorize");
        const auto end = begin == err.npos ? begin : err.find('\n', begin);
        if (end != err.npos) url = err.substr(begin, end - begin);
        return !url.empty();
    })) << login.err_so_far();
    auto browser = world.start_command(
        {"/usr/bin/python3", "-c", "import sys, urllib.request as r; r.urlopen(sys.argv[1])", url});
    EXPECT_EQ(browser.wait().exit_code, 0);
    ASSERT_EQ(login.wait().exit_code, 0);
    const auto kept = world.home() / "cache" / "mcp" / "tracker.json";
    ASSERT_TRUE(test_support::eventually([&] { return std::filesystem::exists(kept); }));
    EXPECT_EQ(run("second"), "Asked.");
    EXPECT_EQ(last_result(), "from the tracker");
}

class McpAskingDaemon : public testing::Test {
protected:
    McpAskingDaemon() {
        std::filesystem::create_directories(world.home());
        world.write(world.home() / "config.json",
                    base::json_text(
                        json::object{{"mcp",
                                      {{"servers",
                                        {{"test",
                                          {{"command", "/usr/bin/python3"},
                                           {"args", {HOLON_MCP_ASKING_SERVER, "session"}}}}}}}}}));
    }
    DaemonWorld world;
};

TEST_F(McpAskingDaemon, TheOperatorAnswersWhatAServerAsks) {
    world.script({calls("mcp__test__form", json::object{}), says("Done.")});
    world.daemon({"start"});
    const auto kept = world.home() / "cache" / "mcp" / "test.json";
    ASSERT_TRUE(test_support::eventually([&] { return std::filesystem::exists(kept); }));
    auto running = world.start({"run", "--json", "--agent", "k", "--create-agent", "go"});
    json::value questions;
    ASSERT_TRUE(test_support::eventually([&] {
        questions = world.json_of({"mcp", "questions"});
        return !questions.as_array().empty();
    }));
    const auto id = base::string_at(questions.at(0), "id");
    EXPECT_EQ(base::string_at(questions.at(0), "server"), "test");
    EXPECT_EQ(base::string_at(questions.at(0), "message"), "Who are you?");
    EXPECT_THAT(world.run({"approvals"}).out, testing::HasSubstr(id));

    EXPECT_EQ(world.run({"mcp", "answer", id, "age=7"}).exit_code, 1);  // It needs a name.
    EXPECT_THAT(world.run({"mcp", "answer", id, "name=Ada", "age=old"}).err,
                testing::HasSubstr("integer"));
    EXPECT_THAT(world.run({"mcp", "answer", id, "shoe=7"}).err, testing::HasSubstr("no field"));
    const auto answered = world.run({"mcp", "answer", id, "name=Ada", "age=36"});
    EXPECT_EQ(answered.exit_code, 0) << answered.err;
    EXPECT_EQ(running.wait().exit_code, 0);
    const auto results = of_kind(world.json_of({"transcript", "--agent", "k"}), "tool_results");
    ASSERT_FALSE(results.empty());
    EXPECT_THAT(base::string_at(results.back().at("data").at("results").at(0), "content"),
                testing::HasSubstr(R"("name": "Ada")"));
    EXPECT_EQ(world.run({"mcp", "answer", id, "--decline"}).exit_code, 1);
    EXPECT_TRUE(world.json_of({"mcp", "questions"}).as_array().empty());
}

TEST_F(McpAskingDaemon, PromptsAreListedAndExpandedWithAndWithoutADaemon) {
    const auto check = [&] {
        const auto prompts = world.json_of({"mcp", "prompts"});
        ASSERT_EQ(prompts.as_array().size(), 1u);
        EXPECT_EQ(base::string_at(prompts.at(0), "name"), "triage");
        EXPECT_EQ(world.run({"mcp", "prompt", "test", "triage", "issue=12", "--plain"}).out,
                  "Sort issue 12.\n");
        EXPECT_NE(world.run({"mcp", "prompt", "test", "triage"}).exit_code, 0);
        EXPECT_NE(world.run({"mcp", "prompt", "nobody", "triage"}).exit_code, 0);
    };
    check();
    world.script({says("Hello.")});
    world.daemon({"start"});
    check();
}

}  // namespace
}  // namespace e2e
