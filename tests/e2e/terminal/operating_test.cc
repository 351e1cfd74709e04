// The daemon and what an operator does with it, on a terminal and in scripts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/daemon/daemon_world.h"
#include "tests/e2e/terminal/pty.h"

namespace e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Operating, ABrokenConfigurationLocksNobodyOut) {
    DaemonWorld world;
    world.script({says("Done.")});
    world.daemon({"start"});
    world.write(world.home() / "config.json", R"({"modle": 1})");
    for (const std::vector<std::string>& works :
         std::vector<std::vector<std::string>>{{"daemon", "status"},
                                               {"daemon", "logs"},
                                               {"status"},
                                               {"prompt", "hello"},
                                               {"tail"},
                                               {"agent", "stop"},
                                               {"agent", "start"}}) {
        const auto finished = world.run(works);
        EXPECT_EQ(finished.exit_code, 0) << works[0] << finished.err;
        EXPECT_THAT(finished.err, HasSubstr("the settings cannot be used")) << works[0];
    }
    const auto restart = world.run({"daemon", "restart"});
    EXPECT_EQ(restart.exit_code, 1);
    EXPECT_GT(world.pid(), 0) << "it was not stopped";
    EXPECT_EQ(world.run({"daemon", "stop"}).exit_code, 0);
    EXPECT_EQ(world.pid(), 0);
    EXPECT_EQ(world.run({"status"}).exit_code, 1) << "without a daemon the settings are needed";
}

TEST(Operating, ARestartChecksBeforeItStops) {
    DaemonWorld world;
    world.script({says("Done.")});
    world.daemon({"start"});
    const pid_t before = world.pid();
    const std::string model = world.environment.at("HOLON_MODEL");
    world.environment.erase("HOLON_MODEL");
    const auto refused = world.run({"daemon", "restart"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("nothing was stopped"));
    EXPECT_EQ(world.pid(), before);
    EXPECT_TRUE(is_alive(before));
    world.environment["HOLON_MODEL"] = model;
    EXPECT_EQ(world.run({"daemon", "restart"}).exit_code, 0);
    EXPECT_NE(world.pid(), before);
}

TEST(Operating, APortThatIsTakenIsNamedWithItsHolderAndAWayOut) {
    DaemonWorld world;
    world.script({says("Done.")});
    world.daemon({"start"});
    world.environment["HOLON_HOME"] = (world.folder() / "other").string();
    const auto refused = world.run({"daemon", "start"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(
        refused.err,
        AllOf(HasSubstr(fmt::format("port {} of 127.0.0.1 is in use by holon", world.port())),
              HasSubstr(std::to_string(world.pid())), HasSubstr("--port")));
    world.environment["HOLON_HOME"] = world.home().string();
}

TEST(Operating, ThePromptsAnswerCanBeWaitedFor) {
    DaemonWorld world;
    world.script({runs("true", "Let me look."), says("The answer.")});
    world.daemon({"start"});
    const auto text = world.run({"prompt", "--wait", "--plain", "well?"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_EQ(text.out, "The answer.\n");
    EXPECT_THAT(text.err, HasSubstr("exit 0"));
    world.script({says("Another.")});
}

TEST(Operating, AFollowedAnswerIsDrawnAsMarkdown) {
    DaemonWorld world;
    world.script({says("Some **bold** `code`.\n\n- item\n")});
    world.daemon({"start"});
    EXPECT_EQ(world.run({"prompt", "--wait", "well?"}).exit_code, 0);
    OnTerminal followed(world, {"tail", "-f"});
    EXPECT_TRUE(followed.shows("• item")) << followed.text();
    EXPECT_THAT(followed.text(), AllOf(HasSubstr("Some bold code."), Not(HasSubstr("**"))));
    followed.type("\x03");
    followed.wait();
}

TEST(Operating, LogsAreFollowed) {
    DaemonWorld world;
    world.script({says("The answer is in the log.")});
    world.daemon({"start"});
    auto followed = world.start({"daemon", "logs", "-f", "--tail", "0"});
    const auto out = [&] { return world.read(fmt::format("/proc/{}/fd/1", followed.pid())); };
    // It watches the folder before it prints anything, so one prompt may be too early.
    EXPECT_TRUE(test_support::eventually([&] {
        EXPECT_EQ(world.run({"prompt", "--wait", "well?"}).exit_code, 0);
        return out().contains("The answer is in the log.");
    }));
    followed.send(SIGINT);
    EXPECT_EQ(followed.wait().signal, SIGINT);
}

TEST(Operating, TasksAreFedReadAndStopped) {
    DaemonWorld world;
    world.script({says("Done.")});
    world.daemon({"start"});
    const auto task = world.json_of({"task", "count", "--cmd", "read x; echo got $x; sleep 600",
                                     "--accepts-input", "--yield-time-ms", "1"});
    const std::string id = base::string_at(task, "id");
    EXPECT_EQ(base::string_at(world.json_of({"task", "list"}).at(0), "id"), id);
    world.json_of({"task", "input", id, "hello"});
    EXPECT_TRUE(test_support::eventually([&] {
        return base::string_at(world.json_of({"task", "output", id}), "output_preview")
            .contains("got hello");
    }));
    EXPECT_EQ(base::string_at(world.json_of({"task", "stop", id}), "status"), "cancelling");
    EXPECT_TRUE(
        test_support::eventually([&] { return world.json_of({"task", "list"}) == json::array{}; }));
    EXPECT_EQ(base::string_at(world.json_of({"task", "output", id}), "status"), "cancelled");
    EXPECT_EQ(world.run({"task", "output", "nothing"}).exit_code, 1);
}

TEST(Operating, TimersFollowTheCalendar) {
    DaemonWorld world;
    world.script({says("Done.")});
    world.environment["TZ"] = "Europe/Berlin";
    world.daemon({"start"});
    const auto daily = world.json_of({"timer", "--cron", "0 9 * * mon-fri", "--summary", "mail"});
    EXPECT_EQ(base::string_at(daily, "cron"), "0 9 * * mon-fri");
    EXPECT_EQ(base::string_at(daily, "time_zone"), "Europe/Berlin");
    const auto once = world.json_of({"timer", "--at", "09:00", "--time-zone", "UTC"});
    EXPECT_THAT(base::string_at(once, "next_fire_at"), HasSubstr("T09:00:00"));
    EXPECT_EQ(base::int_at(world.json_of({"timer", "--after", "1h30m"}), "duration_ms"), 5'400'000);
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"timer", "--cron", "often"},
                                               {"timer", "--at", "09:00", "--time-zone", "Mars"},
                                               {"timer", "--at", "noon"}})
        EXPECT_EQ(world.run(wrong).exit_code, 1) << wrong[2];
    OnTerminal list(world, {"timer", "--list"}, 80);
    EXPECT_EQ(list.wait(), 0);
    EXPECT_THAT(list.text(), AllOf(HasSubstr("09:00:00+0"), HasSubstr("mon-fri")));
}

TEST(Operating, ARevokedWakeUrlStaysRevokedAndTextReachesTheModelAsText) {
    DaemonWorld world;
    world.script({says("Noted."), says("Noted.")});
    world.daemon({"start"});
    const auto path = [&](const char* verb) {
        const auto url = base::string_at(world.json_of({"trigger", verb}), "trigger_url");
        return url.substr(url.find("/callbacks"));
    };
    path("show");
    EXPECT_EQ(world.run({"trigger", "revoke"}).exit_code, 0);
    const auto shown = world.run({"trigger", "show"});
    EXPECT_EQ(shown.exit_code, 1);
    EXPECT_THAT(shown.err, HasSubstr("holon trigger rotate"));
    const auto fresh = path("rotate");
    const auto sent = world
                          .start_command({"/usr/bin/env", "curl", "-s", "-d", "the build is red",
                                          world.url() + fresh})
                          .wait();
    EXPECT_THAT(sent.out, HasSubstr("\"ok\":true"));
    EXPECT_TRUE(test_support::eventually(
        [&] { return world.run({"transcript", "--plain"}).out.contains("the build is red"); }));
    EXPECT_THAT(world.run({"transcript", "--plain"}).out, Not(HasSubstr("you  Wake hint")));
}

TEST(Operating, ApprovalsAreAskedOneByOneWithTheExactCommand) {
    Program program;
    program.script({says("never")});
    program.write(program.folder() / "p.json",
                  R"({"version":"1.0","goal":"Test","riskLevel":"commands","steps":[
        {"id":"one","tool":"shell.exec","args":{"cmd":"echo first >> a.txt"}}]})");
    const std::string plan = (program.folder() / "p.json").string();
    ASSERT_EQ(program.run({"plan", "run", plan}).exit_code, 5);
    ASSERT_EQ(program.run({"plan", "run", plan}).exit_code, 5);
    EXPECT_EQ(program.json_of({"approvals"}).as_array().size(), 2U);
    OnTerminal asked(program, {"approvals"});
    ASSERT_TRUE(asked.shows("$ echo first >> a.txt")) << asked.text();
    ASSERT_TRUE(asked.shows("Allow it?"));
    asked.type("n\n");
    ASSERT_TRUE(asked.shows("Rejected."));
    asked.type("y\n");
    EXPECT_EQ(asked.wait(), 0) << asked.text();
    EXPECT_THAT(asked.text(), HasSubstr("is approved by"));
    EXPECT_EQ(program.json_of({"approvals"}), json::array{});
}

TEST(Operating, AFileIsNotOverwrittenByAPlanWithoutAsking) {
    Program program;
    program.script({says("never asked")});
    const auto file = program.folder() / "plan.json";
    program.write(file, "mine");
    const auto refused = program.run({"plan", "make", "tidy up", "--out", file.string()});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("--force"));
    OnTerminal asked(program, {"plan", "make", "tidy up", "--out", file.string()}, 400);
    ASSERT_TRUE(asked.shows("Overwrite it? [y/N]")) << asked.text();
    asked.type("n\n");
    EXPECT_EQ(asked.wait(), 1);
    EXPECT_EQ(program.read(file), "mine");
}

TEST(Operating, PlansWithPathsThatLeaveTheVaultAreRefusedAtOnce) {
    Program program;
    program.script({says("never")});
    program.write(program.folder() / "p.json",
                  R"({"version":"1.0","goal":"Test","riskLevel":"read-only","steps":[
        {"id":"one","tool":"vault.readFile","args":{"path":"../../../etc/passwd"}},
        {"id":"two","tool":"vault.readFile","args":{"path":"/etc/passwd"}}]})");
    const auto faults =
        program.json_of({"plan", "check", (program.folder() / "p.json").string()}, 6);
    EXPECT_EQ(faults.at("faults").as_array().size(), 2U) << base::json_text(faults);
}

}  // namespace
}  // namespace e2e
