#include "exec/tools/builtin/fixture_for_test.h"

namespace builtin {
namespace {

using domain::ResultStatus;

class ExecCommandBatchTest : public BuiltinTest {
protected:
    static json::value commands(const std::vector<std::string>& cmds, bool stop_on_error = false) {
        json::array items;
        for (const auto& cmd : cmds) items.push_back({{"cmd", cmd}, {"login", false}});
        return {{"items", std::move(items)}, {"stop_on_error", stop_on_error}};
    }
    // "completed 0, failed command_timed_out, …" of each item.
    static std::string statuses(const tools::Dispatched& end) {
        std::string text;
        for (const auto& item : end.envelope.result().at("items").as_array())
            text +=
                fmt::format("{}{} {}", text.empty() ? "" : ", ", base::string_at(item, "status"),
                            base::string_at(item, "error_kind", "-"));
        return text;
    }
};

// contract: RCPT-02, CMD-11, CMD-19
TEST_F(ExecCommandBatchTest, RunsEveryCommandInOrderAndShowsEachOutcome) {
    const auto end = run("ExecCommandBatch",
                         commands({"echo one > b.txt; echo out", "exit 3", "cat b.txt >&2"}));
    EXPECT_EQ(end.receipt,
              "2 of 3 commands completed\n\n"
              "[1] echo one > b.txt; echo out\nexit=0\n\nstdout:\nout\n\n"
              "[2] exit 3\nexit=3\n\n"
              "[3] cat b.txt >&2\nexit=0\n\nstderr:\none");
    EXPECT_EQ(statuses(end), "completed -, failed -, completed -");
    EXPECT_EQ(end.envelope.summary_text(), "2 of 3 commands completed");
    EXPECT_EQ(end.result.status, ResultStatus::Ok);
    EXPECT_EQ(end.result.effects,
              (domain::Effects{.side_effects_observed = true, .created = {{"b.txt"}}}));
    const json::object& result = end.envelope.result();
    EXPECT_EQ(base::int_at(result, "item_count"), 3);
    EXPECT_EQ(base::int_at(result, "completed_count"), 2);
    EXPECT_EQ(base::int_at(result, "failed_count"), 1);
    EXPECT_EQ(base::int_at(result, "skipped_count"), 0);
}

// contract: CMD-12
TEST_F(ExecCommandBatchTest, StartsNoCommandBeforeTheOneBeforeItHasEnded) {
    // The pause is no wait: it only gives a command that starts too early the time to be seen.
    std::vector<std::string> each;
    for (const char* name : {"1", "2", "3"})
        each.push_back(
            fmt::format("echo {0} begins >> order; sleep 0.2; echo {0} ends >> order", name));
    run("ExecCommandBatch", commands({each[0], each[1], each[2]}));
    EXPECT_EQ(bytes_of(folder_.at("repo/order")),
              "1 begins\n1 ends\n2 begins\n2 ends\n3 begins\n3 ends\n");
}

TEST_F(ExecCommandBatchTest, LeavesOutTheRestAfterAFailureWhenAsked) {
    const auto end = run("ExecCommandBatch", commands({"true", "exit 1", "touch ran"}, true));
    EXPECT_EQ(end.receipt,
              "1 of 3 commands completed\n\n[1] true\nexit=0\n\n[2] exit 1\nexit=1\n\n"
              "[3] touch ran\nskipped=stop_on_error");
    EXPECT_EQ(statuses(end), "completed -, failed -, skipped skipped_after_previous_error");
    EXPECT_FALSE(std::filesystem::exists(folder_.at("repo/ran")));
}

// contract: CMD-18
TEST_F(ExecCommandBatchTest, KeepsOfEachCommandWhatItWasAndHowItEnded) {
    const auto end = run("ExecCommandBatch", {{"items",
                                               {{{"cmd", "printf '%0100000d' 1"}, {"login", false}},
                                                {{"cmd", "true"}, {"shell", "no-such-shell"}}}}});
    const auto& items = end.envelope.result().at("items").as_array();
    EXPECT_EQ(base::string_at(items[0], "status"), "completed");
    EXPECT_EQ(base::string_at(items[0], "cmd"), "printf '%0100000d' 1");
    EXPECT_GE(base::int_at(items[0], "duration_ms", -1), 0);
    EXPECT_TRUE(base::bool_at(items[0].at("result"), "truncated"));
    EXPECT_LE(base::string_at(items[0].at("result"), "stdout_preview").size(), 32'000U);
    EXPECT_EQ(base::string_at(items[1], "error_kind"), "command_spawn_failed");
    EXPECT_NE(base::string_at(items[1], "error_message"), "");
}

// contract: CMD-17
TEST_F(ExecCommandBatchTest, GoesOnAfterACommandThatCouldNotStartOrTookTooLong) {
    const auto end =
        run("ExecCommandBatch", {{"items",
                                  {{{"cmd", "true"}, {"workdir", ".."}},
                                   {{"cmd", "true"}, {"shell", "no-such-shell"}},
                                   {{"cmd", "sleep 600"}, {"login", false}, {"yield_time_ms", 50}},
                                   {{"cmd", "echo end"}, {"login", false}}}}});
    EXPECT_EQ(statuses(end),
              "failed execution_root_violation, failed command_spawn_failed, "
              "failed command_timed_out, completed -");
    EXPECT_THAT(end.receipt, testing::HasSubstr("[1] true\nfailed=execution_root_violation\n"
                                                "error: The working directory .. is outside"));
    EXPECT_THAT(end.receipt,
                testing::HasSubstr("[3] sleep 600\nexit=unknown (Process was ended: it ran into "
                                   "its time limit)"));
}

TEST_F(ExecCommandBatchTest, EndsTheRunningCommandAndSkipsTheRestWhenCancelled) {
    make_ready_fifo();
    // The first one cannot start: cancel() must still find the second.
    const auto running =
        start("ExecCommandBatch", {{"items",
                                    {{{"cmd", "true"}, {"workdir", ".."}},
                                     {{"cmd", ": > ready; sleep 600"}, {"login", false}},
                                     {{"cmd", "touch ran"}}}}});
    await_ready();
    running->cancel();
    const auto ended = end();
    EXPECT_EQ(statuses(ended), "failed execution_root_violation, failed -, skipped cancelled");
    EXPECT_THAT(ended.receipt,
                testing::EndsWith("[2] : > ready; sleep 600\n"
                                  "exit=unknown (Process was ended: it was cancelled)\n\n"
                                  "[3] touch ran\nskipped=cancelled"));
    EXPECT_EQ(ended.result.status, ResultStatus::Cancelled);
    EXPECT_EQ(ended.result.error->code, "CANCELLED");
    EXPECT_FALSE(std::filesystem::exists(folder_.at("repo/ran")));
}

TEST_F(ExecCommandBatchTest, StartsNothingWhenItWasCancelledFirst) {
    const auto running = start("ExecCommandBatch", commands({"touch ran", "touch ran"}));
    running->cancel();
    const auto ended = end();
    EXPECT_EQ(statuses(ended), "skipped cancelled, skipped cancelled");
    EXPECT_EQ(ended.result.status, ResultStatus::Cancelled);
    EXPECT_EQ(ended.result.effects, domain::Effects{});
}

TEST_F(ExecCommandBatchTest, IsOverWhereTheRootIsGone) {
    place_.workspace.execution_root = folder_.at("gone");
    for (int i = 0; i < 2; ++i) {
        const auto end = run("ExecCommandBatch", commands({"true"}));
        EXPECT_EQ(statuses(end), "completed -");
        EXPECT_EQ(end.result.effects, (domain::Effects{.observed = false}));
    }
}

TEST_F(ExecCommandBatchTest, TakesOneToTwelveCommands) {
    EXPECT_FALSE(run("ExecCommandBatch", commands({})).envelope.ok());
    EXPECT_FALSE(
        run("ExecCommandBatch", commands(std::vector<std::string>(13, "true"))).envelope.ok());
    const auto most = run("ExecCommandBatch", commands(std::vector<std::string>(12, "true")));
    EXPECT_EQ(base::int_at(most.envelope.result(), "completed_count"), 12);
}

TEST_F(ExecCommandBatchTest, KeepsTheArtifactsOfEachCommandApart) {
    const auto end =
        run("ExecCommandBatch", commands({"printf '%0100000d' 1", "printf '%0100000d' 2"}));
    std::vector<std::string> endings;
    for (const auto& item : end.envelope.result().at("items").as_array())
        endings.push_back(bytes_of(base::string_at(item.at_pointer("/result/artifacts/0"), "path"))
                              .substr(99'998));
    EXPECT_EQ(endings, (std::vector<std::string>{"01", "02"}));
}

}  // namespace
}  // namespace builtin
