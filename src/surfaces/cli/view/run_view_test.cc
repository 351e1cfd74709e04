#include "surfaces/cli/view/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "tests/support/captured_terminal.h"

namespace cli {
namespace {

using test_support::CapturedTerminal;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HandClock final : public base::Clock {
public:
    base::Time now() override { return time; }
    base::Time time{};
};

domain::Event event(std::string kind, json::object data) {
    return {.kind = std::move(kind), .data = std::move(data)};
}

TEST(RunView, PipedARunIsPlainLines) {
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    EXPECT_EQ(view.tick_interval(), std::chrono::seconds(1));
    view.on_started({.agent_id = "a", .model_ref = "vllm/m"});
    view.on_event(event("turn_started", {}));
    view.on_delta({.text = "I will look"});
    view.on_event(event("assistant_round_recorded", {{"has_tool_calls", true},
                                                     {"has_text", true},
                                                     {"text_preview", "I will look.\nThen act."}}));
    view.on_event(event("process_execution_requested", {{"cmd_preview", "make"}}));
    view.on_event(event("tool_executed", {{"tool_name", "ExecCommand"},
                                          {"exec_command_cmd", "make"},
                                          {"exit_status", 2},
                                          {"duration_ms", 1500}}));
    view.on_event(event("tool_executed", {{"tool_name", "ExecCommand"},
                                          {"exec_command_cmd", "cat"},
                                          {"status", "timeout"},
                                          {"duration_ms", 60'000}}));
    view.on_event(
        event("tool_executed",
              {{"tool_name", "ApplyPatch"}, {"summary", "patched 1 file"}, {"duration_ms", 20}}));
    view.on_event(event("tool_execution_failed",
                        {{"tool_name", "ApplyPatch"}, {"tool_error", {{"message", "no match"}}}}));
    view.on_event(event("provider_round_completed", {{"token_usage", {{"total_tokens", 10}}}}));
    view.on_event(
        event("assistant_round_recorded",
              {{"has_tool_calls", false}, {"has_text", true}, {"text_preview", "Done."}}));
    view.on_event(event("attempt_resumed", {{"round", 2}}));
    view.on_event(event("runtime_error", {{"error", "no answer"}}));
    clock.time += std::chrono::seconds(65);
    view.finish({.final_status = service::FinalStatus::Completed,
                 .changed_files = {"a.txt"},
                 .token_usage = {.input_tokens = 1000, .output_tokens = 200, .total_tokens = 1200},
                 .model_rounds = 1,
                 .tool_calls = 3});
    EXPECT_EQ(captured.err(),
              "agent a · model vllm/m\n"
              "● I will look.\n"
              "  Then act.\n"
              "  $ make → exit 2 1.5s\n"
              "  $ cat → timeout 1m 00s\n"
              "  ✓ patched 1 file 0.0s\n"
              "  ✗ ApplyPatch: no match\n"
              "resuming after a restart, at round 2\n"
              "✗ no answer\n"
              "completed in 1m 05s · 1 round · 3 tool calls · 1.2k tokens (1.0k in, 200 out) · 1 "
              "file changed\n");
    EXPECT_EQ(captured.out(), "");
}

TEST(RunView, AModelThatSendsNothingIsShownAsWaitedForFromFiveSecondsOn) {
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_event(event("turn_started", {}));
    const auto tick_after = [&](std::chrono::milliseconds time) {
        clock.time += time;
        view.on_tick();
        return captured.err();
    };
    EXPECT_EQ(tick_after(std::chrono::milliseconds(4999)), "");
    EXPECT_THAT(tick_after(std::chrono::milliseconds(1)), HasSubstr("waiting for the model for 5"));
    const auto shown = captured.err();
    EXPECT_EQ(tick_after(std::chrono::seconds(4)), shown) << "the next line when it has doubled";
    EXPECT_THAT(tick_after(std::chrono::seconds(1)), HasSubstr("waiting for the model for 10"));
    view.on_event(event("process_execution_requested", {{"cmd_preview", "make"}}));
    const auto before = captured.err();
    EXPECT_EQ(tick_after(std::chrono::minutes(1)), before) << "it waits for a command";
}

TEST(RunView, AProviderThatIsDownIsShownWithTheTimeOfTheNextTry) {
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_event(event("turn_parked", {{"until", "2031-01-02T03:04:05Z"},
                                        {"reason",
                                         "house/m: retries_exhausted after 3 attempts "
                                         "(server_error, status=503): busy"}}));
    EXPECT_THAT(captured.err(),
                AllOf(HasSubstr("2031-01-0"), HasSubstr("no answer after 3 tries (HTTP 503): busy"),
                      HasSubstr("does not answer")));
}

TEST(RunView, ARequestThatIsSentAgainIsShownAndItsTextForgotten) {
    const CapturedTerminal captured(true);
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_event(event("turn_started", {}));
    view.on_delta({.kind = service::DeltaKind::Text, .text = "half an ans"});
    view.on_delta({.kind = service::DeltaKind::Retry,
                   .text = "the server answered 503",
                   .model_ref = "a/one",
                   .next_model_ref = "a/one",
                   .attempt = 1,
                   .max_attempts = 3,
                   .wait_ms = 2000});
    view.on_tick();
    EXPECT_THAT(
        captured.err(),
        AllOf(HasSubstr("a/one failed (try 1 of 3), again in 2.0s: the server answered 503"),
              HasSubstr("thinking"), Not(HasSubstr("half an ans"))));
    view.on_delta({.kind = service::DeltaKind::Retry,
                   .text = "no more",
                   .model_ref = "a/one",
                   .next_model_ref = "b/two"});
    EXPECT_THAT(captured.err(), HasSubstr("a/one failed, asking b/two: no more"));
}

TEST(RunView, AQuestionOfAnMcpServerIsAnnouncedOnce) {
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_delta({.kind = service::DeltaKind::Question, .text = "s\x1b[2J"});
    view.on_delta({.kind = service::DeltaKind::Question, .text = ""});
    EXPECT_THAT(captured.err(),
                HasSubstr("the MCP server s\\x1b[2J asks you something: holon mcp questions"));
    EXPECT_EQ(captured.err().find("asks"), captured.err().rfind("asks"));
}

TEST(RunView, ACommandWithoutAnExitCodeIsNotFine) {
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_event(event("tool_executed", {{"exec_command_cmd", "a"},
                                          {"summary", "Process was ended by signal 9."},
                                          {"exit_status", nullptr}}));
    view.on_event(event(
        "tool_executed",
        {{"exec_command_cmd", "b"}, {"summary", "The command continues in the background."}}));
    EXPECT_EQ(captured.err(),
              "  $ a → ended by signal 9 0.0s\n  $ b → continues in the background 0.0s\n");
}

TEST(RunView, OnATerminalTheAnswerIsPrintedAsItIsWrittenAndOnlyOnce) {
    const CapturedTerminal captured(true);
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_delta({.text = "**one**\n\n- two"});
    EXPECT_EQ(captured.out(), "one\n");
    view.on_tick();
    EXPECT_THAT(captured.err(), HasSubstr("two"));
    view.on_delta({.text = " three\n\n"});
    EXPECT_EQ(captured.out(), "one\n") << "the list may continue";
    view.on_event(event("assistant_round_recorded", {{"has_text", true}}));
    EXPECT_EQ(captured.out(), "one\n\n• two three\n");
    view.finish({.final_text = "**one**\n\n- two three"});
    EXPECT_EQ(captured.out(), "one\n\n• two three\n");
    const CapturedTerminal other(true);
    RunView unseen(other.terminal, clock);
    unseen.finish({.final_text = "`one`"});
    EXPECT_EQ(other.out(), "one\n") << "what did not stream is printed";
    const CapturedTerminal piped;
    RunView plain(piped.terminal, clock);
    plain.on_delta({.text = "`one`\n\n"});
    plain.finish({.final_text = "`one`\n\n- two"});
    EXPECT_EQ(piped.out(), "`one`\n\n- two\n") << "as it was written";
}

TEST(RunView, AFailedAnswerThatWasShownIsSaidToBeginAgain) {
    const CapturedTerminal captured(true);
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_delta({.text = "half\n\n"});
    view.on_delta({.kind = service::DeltaKind::Retry, .text = "cut off", .model_ref = "a/m"});
    view.on_delta({.text = "whole\n\n"});
    EXPECT_EQ(captured.out(), "half\nwhole\n");
    EXPECT_THAT(captured.err(), HasSubstr("the answer begins again"));
}

TEST(RunView, NamesTheFolderAndSaysWhenItIsAnother) {
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_started(
        {.agent_id = "a", .model_ref = "vllm/m", .cwd = "/src/old", .is_elsewhere = true});
    EXPECT_EQ(captured.err(),
              "agent a · model vllm/m · in /src/old\n"
              "agent a works in /src/old, not in this folder; move it here with --workspace-root "
              ".\n");
}

TEST(RunView, ADumbTerminalGetsPlainLines) {
    CapturedTerminal captured(true);
    captured.terminal.is_dumb = true;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_delta({.text = "one\n"});
    view.on_tick();
    EXPECT_EQ(captured.err(), "");
    EXPECT_EQ(captured.out(), "");
    view.finish({.final_text = "one"});
    EXPECT_EQ(captured.out(), "one\n");
    EXPECT_THAT(captured.err(), Not(HasSubstr("\x1b")));
}

TEST(RunNotes, SayWhatTheAnswerLeavesOpen) {
    service::RunResponse response{.final_status = service::FinalStatus::Completed};
    EXPECT_EQ(run_notes(response), "");
    response.final_status = service::FinalStatus::Waiting;
    response.waiting_reason = domain::WaitingReason::AwaitingTimer;
    response.sleep_reason = "tired";
    response.tasks = {{{"task", {{"status", "completed"}, {"summary", "Command: make"}}}},
                      {{"task", {{"status", "failed"}, {"kind", "command_task"}}}}};
    EXPECT_EQ(run_notes(response),
              "waiting for a timer\nit sleeps: tired\ntask completed: Command: make\ntask failed: "
              "command_task");
}

TEST(StreamView, PrintsAnObjectALine) {
    const CapturedTerminal captured;
    StreamView view(captured.terminal);
    view.on_started({.run_id = "r", .agent_id = "a"});
    view.on_event(event("turn_started", {}));
    view.on_delta({.text = "x"});
    view.finish({.agent_id = "a", .final_text = "done"});
    view.fail({base::ErrorCode::Unavailable, "gone"});
    std::vector<std::string> types;
    for (const auto line : base::split_lines(captured.out()))
        types.push_back(base::string_at(base::parse_json(line).value(), "type"));
    EXPECT_THAT(types, testing::ElementsAre("started", "event", "delta", "result", "error"));
}

TEST(RunView, TheLiveLineNeverWraps) {
    for (const std::string& what :
         {std::string(300, 'x'),
          std::string("短い行ではありません") + std::string(60, 'y') + "漢字漢字漢字"}) {
        const CapturedTerminal captured(true);  // No size is known, so it has 80 columns.
        HandClock clock;
        RunView view(captured.terminal, clock);
        view.on_event(event("process_execution_requested", {{"cmd_preview", what}}));
        view.on_tick();
        EXPECT_LT(show::columns_of(captured.err()), 80U) << captured.err();
        EXPECT_THAT(captured.err(), HasSubstr("… 0.0s · round 1 · 0 tokens"));
    }
}

TEST(RunView, TheNewestLineOfARunningCommandIsShownUntilItEnds) {
    const CapturedTerminal captured(true);
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_event(event("process_execution_requested", {{"cmd_preview", "make"}}));
    view.on_delta({.kind = service::DeltaKind::Output,
                   .text = "[ 42%] Building \x1b[2Jx",
                   .tool_name = "ExecCommand"});
    view.on_tick();
    EXPECT_THAT(captured.err(), AllOf(HasSubstr("[ 42%] Building"), Not(HasSubstr("\x1b[2Jx"))));
    view.on_event(event("tool_executed", {{"summary", "done"}, {"duration_ms", 5}}));
    const auto before = captured.err().size();
    view.on_tick();
    EXPECT_THAT(captured.err().substr(before), Not(HasSubstr("Building")));
}

TEST(RunView, ShowsBackgroundTasks) {
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_event(event("task_created", {{"summary", "Command: make"}}));
    view.on_event(event("turn_terminal", {}));
    view.on_event(
        event("task_result_received", {{"summary", "Command: make"}, {"status", "failed"}}));
    EXPECT_EQ(captured.err(), "  ↻ in the background: Command: make\n  ↻ Command: make → failed\n");
}

TEST(RunView, NamesAModelThatDoesNotAnswer) {
    const CapturedTerminal captured(true);
    HandClock clock;
    {
        RunView view(captured.terminal, clock);
        view.on_started({.agent_id = "a", .model_ref = "vllm/m"});
        view.on_event(event("turn_started", {}));
        clock.time += std::chrono::seconds(4);
        view.on_tick();
        EXPECT_THAT(captured.err(), HasSubstr("thinking 4.0s"));
        clock.time += std::chrono::seconds(1);
        view.on_tick();
        EXPECT_THAT(captured.err(), HasSubstr("waiting for the model 5.0s"));
        view.on_event(event("model_answer_delayed", {{"model_ref", "a/m"}, {"waited_ms", 30'000}}));
    }
    EXPECT_THAT(captured.err(), HasSubstr("a/m has not answered for 30s; the turn keeps waiting"));
}

TEST(RunView, WhatAModelWritesCannotSteerTheTerminal) {
    constexpr std::string_view kEvil = "\x1b]0;owned\x07\x1b[2J\rok";
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_started({.agent_id = "a", .model_ref = std::string(kEvil), .cwd = std::string(kEvil)});
    view.on_event(event("assistant_round_recorded",
                        {{"has_tool_calls", true}, {"has_text", true}, {"text_preview", kEvil}}));
    view.on_event(event("tool_executed", {{"exec_command_cmd", kEvil}, {"exit_status", 0}}));
    view.on_event(event("tool_executed", {{"summary", kEvil}}));
    view.on_event(event("tool_execution_failed",
                        {{"tool_name", kEvil}, {"tool_error", {{"message", kEvil}}}}));
    view.on_event(event("runtime_error", {{"error", kEvil}}));
    EXPECT_THAT(captured.err(), Not(HasSubstr("\x1b")));
    EXPECT_THAT(captured.err(), Not(HasSubstr("\x07")));
    EXPECT_THAT(captured.err(), Not(HasSubstr("\r")));
    EXPECT_THAT(captured.err(), HasSubstr("\\x1b[2J"));
}

TEST(RunView, OnATerminalALastLineShowsTheActivityAndIsErased) {
    const CapturedTerminal captured(true);
    HandClock clock;
    {
        RunView view(captured.terminal, clock);
        EXPECT_GT(view.tick_interval().count(), 0);
        view.on_started({.agent_id = "a", .model_ref = "vllm/m"});
        view.on_delta({.text = "writing \x1b[31mred"});
        clock.time += std::chrono::seconds(2);
        view.on_tick();
    }
    EXPECT_EQ(captured.err(),
              "agent a · model vllm/m\n"
              "⣽ writing \\x1b[31mred 2.0s · round 1 · 0 tokens\r\x1b[2K");
}

}  // namespace
}  // namespace cli
