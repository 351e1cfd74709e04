// Which agent the console begins with, and which model it is given.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/tui/tmux.h"

namespace e2e {
namespace {

class ConsoleStart : public testing::Test {
protected:
    // Two agents; the helper has spoken.
    void serve_two() {
        world.script({says("The helper's last words.")});
        world.daemon({"start"});
        ASSERT_EQ(world.run({"run", "--agent", "helper", "--create-agent", "go"}).exit_code, 0);
    }
    DaemonWorld world;
};

TEST_F(ConsoleStart, OffersTheAgentsWhereThereAreSeveral) {
    serve_two();
    for (const int columns : {80, 40}) {
        Tmux tmux(world, columns, 24);
        tmux.start_console();
        EXPECT_TRUE(tmux.shows("Which agent?")) << tmux.screen();
        EXPECT_TRUE(tmux.shows("The helper's last words.")) << tmux.screen();
        // The one that spoke last is the first.
        const std::string screen = tmux.screen();
        EXPECT_LT(screen.find("> helper"), screen.find("main  ")) << screen;
        tmux.key("Enter");
        EXPECT_TRUE(tmux.shows("helper · ")) << tmux.screen();
        EXPECT_TRUE(tmux.has("✓ The helper's last words.")) << tmux.all();
        tmux.key("C-d");
        EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    }
}

TEST_F(ConsoleStart, FiltersTheAgentsAndEscapeTakesTheDefault) {
    serve_two();
    Tmux tmux(world);
    tmux.run("");
    EXPECT_TRUE(tmux.shows("Esc takes main")) << tmux.screen();
    tmux.type("mai");
    EXPECT_TRUE(tmux.hides("> helper")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("> main")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.hides("filter: ")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.shows("main · ")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("connected")) << tmux.screen();
}

TEST_F(ConsoleStart, AsksNobodyWhoHasSaidWhich) {
    serve_two();
    Tmux tmux(world);
    tmux.open_console("--agent helper");
    EXPECT_TRUE(tmux.shows("helper · ")) << tmux.screen();
    tmux.key("C-d");
    EXPECT_TRUE(tmux.is_at_shell()) << tmux.screen();
    tmux.open_console("--continue");
    EXPECT_TRUE(tmux.shows("helper · ")) << tmux.screen();
    EXPECT_FALSE(tmux.all().contains("Which agent?")) << tmux.all();
}

TEST_F(ConsoleStart, ListsTheModelsAndSetsOne) {
    world.environment["ANTHROPIC_API_KEY"] = "sk-test-of-the-console";
    world.daemon({"start"});
    Tmux tmux(world, 100, 30);
    tmux.open_console();
    tmux.type("/model");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("● default (scripted/")) << tmux.screen();
    tmux.type("anthropic opus");
    EXPECT_TRUE(tmux.shows("filter: anthropic opus")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("> ")) << tmux.screen();
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("The agent asks anthropic/")) << tmux.screen();
    const std::string own =
        base::string_at(world.json_of({"status"}).at("model"), "override_model");
    EXPECT_TRUE(own.starts_with("anthropic/")) << own;
    tmux.type("/model");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("● " + own.substr(0, 20))) << tmux.screen();
    tmux.type("default (scr");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("the default model")) << tmux.screen();
    EXPECT_EQ(base::string_at(world.json_of({"status"}).at("model"), "source"), "runtime_default");
    tmux.type("/model opus");
    EXPECT_TRUE(tmux.shows("anthropic/")) << tmux.screen();
}

}  // namespace
}  // namespace e2e
