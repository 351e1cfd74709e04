// A daemon with MCP servers: it does not wait for them, and its turns use them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/daemon/daemon_world.h"

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

}  // namespace
}  // namespace e2e
