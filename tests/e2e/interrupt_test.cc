// Ctrl-C, and what is resumed afterwards.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Prints its group to the signpost, so that the test can look for survivors.
std::string hang_at(const Signpost& signpost) {
    return fmt::format("echo $$ > {}; sleep 600 & sleep 600; echo late", signpost.path().string());
}

TEST(Interrupt, EndsTheCommandAndSaysHowToResume) {
    Program program;
    Signpost reached(program.folder() / "reached");
    program.script({runs("echo first"), runs(hang_at(reached)), says("Done.")});
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    const pid_t group = std::stoi("0" + reached.wait());
    ASSERT_GT(group, 0);
    EXPECT_TRUE(group_is_alive(group));
    running.send(SIGINT);
    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 130);
    EXPECT_FALSE(group_is_alive(group));
    EXPECT_THAT(finished.err, HasSubstr("holon run --resume --agent k"));
    EXPECT_EQ(finished.out, "");

    const auto status = program.json_of({"status", "--agent", "k"});
    EXPECT_EQ(base::int_at(status.at("agent"), "pending"), 1);
    EXPECT_EQ(base::string_at(status.at("agent").at("last_turn_terminal"), "reason"),
              "interrupted");
    const auto aborted = program.events("k", "message_processing_aborted");
    ASSERT_EQ(aborted.size(), 1U);
    EXPECT_EQ(base::string_at(aborted[0].at("data"), "reason"), "operator_interrupt");
    EXPECT_TRUE(of_kind(program.json_of({"tail", "--agent", "k"}), "failure").empty());
}

// contract: PROJ-11
TEST(Interrupt, ResumesWithTheEarlierRoundsInThePrompt) {
    test_support::FakeModelServer server;
    Program program;
    program.use_server(server.base_url(), "sk-test");
    Signpost reached(program.folder() / "reached");
    const auto command = [](const std::string& cmd) {
        return base::json_text(json::object{{"cmd", cmd}, {"login", false}});
    };
    server.enqueue(test_support::calls("ExecCommand", command("seq -w 1 131072"), "call_1"));
    server.enqueue(test_support::calls("ExecCommand", command(hang_at(reached)), "call_2"));
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    reached.wait();
    running.send(SIGINT);
    EXPECT_EQ(running.wait().exit_code, 130);
    ASSERT_EQ(server.request_count(), 2U);

    server.enqueue(test_support::says("Done."));
    const auto result = program.json_of({"run", "--json", "--resume", "--agent", "k"});
    EXPECT_EQ(base::string_at(result, "final_status"), "completed");
    EXPECT_EQ(base::string_at(result, "final_text"), "Done.");
    ASSERT_EQ(server.request_count(), 3U);
    const auto body = base::parse_json(server.requests()[2].body).value();
    std::vector<std::string> results;
    std::size_t prompts = 0;
    for (const auto& message : body.at("messages").as_array()) {
        const std::string role = base::string_at(message, "role");
        if (role == "tool") results.push_back(base::string_at(message, "content"));
        if (role == "user" && base::string_at(message, "content").contains("## current_input"))
            ++prompts;
    }
    ASSERT_EQ(results.size(), 2U);
    // Byte for byte what the model saw before, cut as it was then.
    const auto before = base::parse_json(server.requests()[1].body).value();
    const auto& shown = before.at("messages").as_array().back();
    EXPECT_THAT(results[0], HasSubstr("[output cut: "));
    EXPECT_EQ(results[0], base::string_at(shown, "content"));
    EXPECT_THAT(results[1], HasSubstr("cancelled"));
    EXPECT_EQ(prompts, 1U);
    EXPECT_THAT(server.requests()[2].body, HasSubstr("interrupted before it was done"));
    EXPECT_EQ(of_kind(program.json_of({"tail", "--agent", "k"}), "result").size(), 1U);
    EXPECT_EQ(program.events("k", "message_admitted").size(), 1U);

    const auto again = program.run({"run", "--resume", "--agent", "k"});
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_THAT(again.err, HasSubstr("nothing to resume"));
}

TEST(Interrupt, StopsAHangingRequest) {
    test_support::FakeModelServer server;
    Program program;
    program.use_server(server.base_url(), "sk-test");
    server.enqueue(test_support::hangs());
    auto running = program.start({"run", "--json", "--agent", "k", "--create-agent", "go"});
    ASSERT_TRUE(server.wait_for_requests(1));
    running.send(SIGINT);
    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 130);
    const auto result = base::parse_json(finished.out);
    ASSERT_TRUE(result) << finished.out;
    EXPECT_EQ(base::string_at(*result, "final_status"), "interrupted");
    EXPECT_EQ(base::find(*result, "failure_artifact"), nullptr);

    server.enqueue(test_support::says("Done."));
    const auto resumed = program.json_of({"run", "--json", "--resume", "--agent", "k"});
    EXPECT_EQ(base::string_at(resumed, "final_text"), "Done.");
    EXPECT_EQ(server.request_count(), 2U);
    EXPECT_EQ(program.events("k", "message_admitted").size(), 1U);
}

TEST(Interrupt, StopsAWaitBetweenTwoAttempts) {
    test_support::FakeModelServer server;
    Program program;
    program.use_server(server.base_url(), "sk-test");
    server.always(test_support::rate_limited("30"));
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    ASSERT_TRUE(server.wait_for_requests(1));
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().exit_code, 130);
    EXPECT_EQ(server.request_count(), 1U);
}

TEST(Interrupt, KeepsTheTemporaryAgentThatIsToBeResumed) {
    Program program;
    Signpost reached(program.folder() / "reached");
    program.script({runs(hang_at(reached)), says("Done.")});
    auto running = program.start({"run", "go"});
    reached.wait();
    running.send(SIGINT);
    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 130);
    const std::size_t at = finished.err.find("--resume --agent tmp_run_");
    ASSERT_NE(at, std::string::npos) << finished.err;
    const std::string agent = finished.err.substr(at + 17, 8 + 32);
    const auto resumed = program.run({"run", "--resume", "--agent", agent});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_THAT(resumed.out, StartsWith("Done."));
    EXPECT_EQ(program.json_of({"agent", "list"}), json::array{});
}

TEST(Interrupt, ANewPromptWaitsForTheInterruptedOne) {
    Program program;
    Signpost reached(program.folder() / "reached");
    program.script({runs(hang_at(reached))});
    auto running = program.start({"run", "--agent", "k", "--create-agent", "first"});
    reached.wait();
    running.send(SIGINT);
    EXPECT_EQ(running.wait().exit_code, 130);
    // The first prompt has had its first round; the second starts with its own.
    program.script({says("To the second."), says("To the first.")});
    const auto result = program.json_of({"run", "--json", "--agent", "k", "second"});
    EXPECT_EQ(base::string_at(result, "final_text"), "To the second.");
    EXPECT_EQ(base::int_at(result, "message_count"), 2);
    const auto results = of_kind(program.json_of({"tail", "--agent", "k"}), "result");
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(base::string_at(results[0], "text"), "To the first.");
    EXPECT_EQ(base::string_at(results[1], "text"), "To the second.");
}

TEST(Interrupt, ASecondOneLeavesAtOnceAndLosesNothing) {
    Program program;
    Signpost reached(program.folder() / "reached");
    // Ignores the polite signal, so that the first Ctrl-C takes a while.
    program.script(
        {runs(fmt::format("trap '' TERM INT HUP; echo $$ > {}; while :; do sleep 1; done",
                          reached.path().string())),
         says("Done.")});
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    const pid_t group = std::stoi("0" + reached.wait());
    running.send(SIGINT);
    running.send(SIGINT);
    EXPECT_EQ(running.wait().exit_code, 130);
    if (group > 0 && group_is_alive(group)) kill(-group, SIGKILL);
    EXPECT_EQ(program.run({"run", "--resume", "--agent", "k"}).exit_code, 0);
    EXPECT_EQ(of_kind(program.json_of({"tail", "--agent", "k"}), "result").size(), 1U);
}

}  // namespace
}  // namespace e2e
