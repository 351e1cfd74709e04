// Plans in the console: previewed as a diff, run in place, listed, approved and reverted.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/tui/tmux.h"

namespace e2e {
namespace {

class ConsolePlans : public testing::Test {
protected:
    ConsolePlans() {
        world.write(world.repo() / "note.md", "one\n");
        world.write(world.repo() / "plan.json",
                    base::json_text(json::object{
                        {"version", "1.0"},
                        {"goal", "Number the note"},
                        {"riskLevel", "writes"},
                        {"steps", json::array{json::object{
                                      {"id", "write"},
                                      {"tool", "vault.writeFile"},
                                      {"args", {{"path", "note.md"}, {"content", "two\n"}}}}}}}));
        world.daemon({"start"});
        EXPECT_EQ(world.run({"agent", "move", "main", world.repo().string()}).exit_code, 0);
    }
    std::string note() const { return world.read(world.repo() / "note.md"); }

    DaemonWorld world;
};

TEST_F(ConsolePlans, ShowWhatAPlanWouldChangeAndRunIt) {
    Tmux tmux(world, 100, 30);
    tmux.open_console();
    tmux.type("/plan plan.json");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("~ note.md")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("-one")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("+two")) << tmux.screen();
    EXPECT_EQ(note(), "one\n");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("has begun; /plan shows it")) << tmux.screen();
    EXPECT_TRUE(test_support::eventually([&] { return note() == "two\n"; }));
    tmux.type("/plan");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("Number the note")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("succeeded")) << tmux.screen();
    tmux.type("u");
    EXPECT_TRUE(test_support::eventually([&] { return note() == "one\n"; })) << tmux.screen();
}

TEST_F(ConsolePlans, LeaveAPlanThatIsNotConfirmed) {
    Tmux tmux(world, 100, 30);
    tmux.open_console();
    tmux.type("/plan plan.json");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("~ note.md")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.shows("connected")) << tmux.screen();
    EXPECT_EQ(note(), "one\n");
    EXPECT_EQ(world.json_of({"plan", "list", "--json"}).as_array().size(), 0U);
    tmux.type("/plan missing.json");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("There is no file ")) << tmux.screen();
}

TEST_F(ConsolePlans, ApproveARunThatWaits) {
    const auto asked = world.run(
        {"plan", "run", (world.repo() / "plan.json").string(), "--vault", world.repo().string()});
    EXPECT_EQ(asked.exit_code, 5) << asked.err;
    Tmux tmux(world, 100, 30);
    tmux.open_console();
    EXPECT_TRUE(tmux.shows("1 approval (/approvals)")) << tmux.screen();
    tmux.type("/plan");
    tmux.key("Enter");
    EXPECT_TRUE(tmux.shows("need your approval")) << tmux.screen();
    EXPECT_TRUE(tmux.shows("+two")) << tmux.screen();
    tmux.type("y");
    EXPECT_TRUE(test_support::eventually([&] { return note() == "two\n"; })) << tmux.screen();
    EXPECT_TRUE(tmux.shows("succeeded")) << tmux.screen();
    tmux.key("Escape");
    EXPECT_TRUE(tmux.hides("1 approval")) << tmux.screen();
}

}  // namespace
}  // namespace e2e
