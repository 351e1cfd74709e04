#include "surfaces/cli/view/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_terminal.h"

namespace cli {
namespace {

using test_support::CapturedTerminal;
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
    EXPECT_EQ(view.tick_interval().count(), 0);
    view.on_started("a", "vllm/m");
    view.on_event(event("turn_started", {}));
    view.on_text("I will look");
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
                 .token_usage = {.total_tokens = 1200},
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
              "completed in 1m 05s · 1 round · 3 tool calls · 1.2k tokens · 1 file changed\n");
    EXPECT_EQ(captured.out(), "");
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

TEST(RunView, WhatAModelWritesCannotSteerTheTerminal) {
    constexpr std::string_view kEvil = "\x1b]0;owned\x07\x1b[2J\rok";
    const CapturedTerminal captured;
    HandClock clock;
    RunView view(captured.terminal, clock);
    view.on_started("a", std::string(kEvil));
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
        view.on_started("a", "vllm/m");
        view.on_text("writing\n\x1b[31mred");
        clock.time += std::chrono::seconds(2);
        view.on_tick();
    }
    EXPECT_EQ(captured.err(),
              "agent a · model vllm/m\n"
              "⣽ writing \\x1b[31mred 2.0s · round 1 · 0 tokens\r\x1b[2K");
}

}  // namespace
}  // namespace cli
