// The model has spoken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flow/turn/decide/decide.h"
#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;
using domain::TranscriptKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// contract: TURN-04, BRIEF-06
TEST(OnReply, AReplyWithoutCallsCompletesTheTurnAndIsItsResult) {
    const Step step = decide(thinking(), reply(1, {text("first"), text("second")}), input());
    const domain::TurnTerminal terminal{.turn_index = 1,
                                        .kind = domain::TerminalKind::Completed,
                                        .last_assistant_message = "first\n\nsecond",
                                        .completed_at = kNow,
                                        .duration_ms = 1500};
    domain::Attempt attempt = thinking().attempt;
    attempt.state = domain::Closed{};
    attempt.token_usage = {10, 5, 15};
    attempt.context_tokens = 15;
    attempt.last_assistant_message = "first\n\nsecond";
    attempt.closed_at = kNow;
    attempt.terminal = terminal;
    EXPECT_EQ(step.attempt, attempt);
    EXPECT_EQ(step.agent, thinking().agent);
    EXPECT_EQ(step.statistics,
              (domain::AgentStatistics{.agent_id = {"main"},
                                       .last_turn_terminal = terminal,
                                       .total_input_tokens = 10,
                                       .total_output_tokens = 5,
                                       .total_model_rounds = 1,
                                       .total_turn_ms = 1500,
                                       .last_turn_token_usage = domain::TokenUsage{10, 5, 15}}));
    EXPECT_THAT(step.briefs,
                ElementsAre(domain::Brief{.kind = domain::BriefKind::Result,
                                          .text = "first\n\nsecond",
                                          .related_message_id = domain::MessageId{"m"}}));
    EXPECT_EQ(step.release, Release{domain::QueueStatus::Processed});
    EXPECT_THAT(entries(step), ElementsAre(TranscriptKind::AssistantRound));
    EXPECT_THAT(kinds(step), ElementsAre("provider_round_completed", "assistant_round_recorded",
                                         "turn_terminal"));
    EXPECT_THAT(step.effects, IsEmpty());
}

TEST(OnReply, AnAnswerOfAnotherModelThanAskedIsNotedUntilTheNextOne) {
    Facts facts = thinking();
    auto replied = reply(1, {text("ok")});
    replied.reply.timeline = {.requested_model_ref = facts.attempt.model_ref,
                              .winning_model_ref = "openai/other"};
    EXPECT_TRUE(decide(facts, replied, input()).statistics->fallback_active);
    facts.statistics.fallback_active = true;
    replied.reply.timeline.winning_model_ref = facts.attempt.model_ref;
    EXPECT_FALSE(decide(facts, replied, input()).statistics->fallback_active);
}

TEST(OnReply, ATurnThatEndsWellForgetsAnEarlierFailure) {
    Facts facts = thinking();
    facts.statistics.last_runtime_failure = domain::RuntimeFailure{.summary = "of the last turn"};
    EXPECT_EQ(decide(facts, reply(1, {text("ok")}), input()).statistics->last_runtime_failure,
              std::nullopt);
}

// contract: TURN-03
TEST(OnReply, WordsDoNotEndATurnThatStillMakesACall) {
    const Step step = decide(
        thinking(), reply(1, {text("I am done."), use("a", "ExecCommand")}, "tool_use"), input());
    EXPECT_EQ(step.attempt.state,
              domain::TurnState(domain::AwaitingTools{1, {{"call-a"}}, 0, "I am done."}));
    EXPECT_EQ(step.attempt.terminal, std::nullopt);
    EXPECT_THAT(step.briefs, IsEmpty());
    EXPECT_EQ(step.release, std::nullopt);
}

// contract: BRIEF-08
TEST(OnReply, ATurnWithoutAnyTextHasAnEmptyResultAndNoTextMadeUp) {
    const Facts facts = after(thinking(), reply(1, {use("x", "Sleep")}));
    const Step step = decide(facts, done("x", "Sleep", {domain::SleepRequest{"later"}}), input());
    ASSERT_EQ(step.briefs.size(), 1U);
    EXPECT_EQ(step.briefs[0].text, "");
    EXPECT_EQ(step.attempt.terminal->last_assistant_message, std::nullopt);
    EXPECT_EQ(step.attempt.terminal->kind, domain::TerminalKind::Completed);
}

// contract: TURN-06
TEST(OnReply, TheLastTextSeenIsTheTurnsLastMessage) {
    Facts facts = after(thinking(), reply(1, {text("a"), use("x", "AgentGet")}));
    facts = after(facts, done("x", "AgentGet"));
    EXPECT_EQ(
        decide(facts, reply(2, {text("b")}), input()).attempt.terminal->last_assistant_message,
        "b");
    const auto last_of_silent = [](const Facts& before) {
        const Facts asked_again = after(before, reply(2, {}));
        return decide(asked_again, reply(3, {}), input()).attempt.terminal->last_assistant_message;
    };
    EXPECT_EQ(last_of_silent(facts), "a");
    Facts wordless = after(thinking(), reply(1, {use("x", "AgentGet")}));
    wordless = after(wordless, done("x", "AgentGet"));
    EXPECT_EQ(last_of_silent(wordless), std::nullopt);
}

TEST(OnReply, AnEmptyAnswerIsAskedForOnceMoreAndThenReported) {
    for (const auto& silence :
         {reply(1, {}), reply(1, {text(" \n")}), reply(1, {domain::ThinkingBlock{"hm", "sig"}})}) {
        const Step again = decide(thinking(), silence, input());
        EXPECT_EQ(again.attempt.state, domain::TurnState{domain::Thinking{2}});
        EXPECT_THAT(again.effects, ElementsAre(Effect{AskModel{2}}));
        EXPECT_THAT(entries(again), ElementsAre(TranscriptKind::AssistantRound,
                                                TranscriptKind::ContinuationPrompt));
        const Facts asked = after(thinking(), silence);
        EXPECT_EQ(decide(asked, reply(2, {text("Done.")}), input()).attempt.terminal->kind,
                  domain::TerminalKind::Completed);
        const Step reported = decide(asked, reply(2, {}), input());
        EXPECT_EQ(reported.attempt.terminal->kind, domain::TerminalKind::Aborted);
        EXPECT_EQ(reported.attempt.terminal->reason, "empty_answer");
        ASSERT_EQ(reported.briefs.size(), 1U);
        EXPECT_EQ(reported.briefs[0].kind, domain::BriefKind::Failure);
        EXPECT_THAT(reported.briefs[0].text, HasSubstr("answered with nothing"));
    }
}

TEST(OnReply, WhatARoundCostIsOnRecordWhereItIsKnown) {
    auto replied = reply(1, {text("done")});
    EXPECT_FALSE(data_of(decide(thinking(), replied, input()), "provider_round_completed")
                     .contains("cost_usd"));
    replied.reply.cost_usd = 0.25;
    EXPECT_EQ(
        data_of(decide(thinking(), replied, input()), "provider_round_completed").at("cost_usd"),
        0.25);
}

TEST(OnReply, CallsAreRecordedAndTheFirstIsStarted) {
    const auto replied = reply(1, {use("a", "AgentGet"), text("and"), use("b", "ExecCommand")});
    const Step step = decide(thinking(), replied, input());
    const domain::ToolExecution first{.call = replied.calls[0],
                                      .tool_use_id = "a",
                                      .turn_index = 1,
                                      .round = 1,
                                      .state = domain::CallState::Started,
                                      .started_at = kNow};
    const domain::ToolExecution second{
        .call = replied.calls[1], .tool_use_id = "b", .turn_index = 1, .round = 1, .ordinal = 1};
    EXPECT_THAT(step.executions, ElementsAre(first, second));
    EXPECT_EQ(step.attempt.state,
              domain::TurnState(domain::AwaitingTools{1, {{"call-a"}, {"call-b"}}, 0, "and"}));
    EXPECT_EQ(step.effects, (std::vector<Effect>{RunTool{{"call-a"}}}));
    EXPECT_THAT(entries(step), ElementsAre(TranscriptKind::AssistantRound));
}

TEST(OnReply, CallsCarryTheTrustOfTheirMessage) {
    Facts facts = thinking();
    facts.message.trust = domain::TrustLevel::UntrustedExternal;
    EXPECT_EQ(decide(facts, reply(1, {use("a", "AgentGet")}), input()).executions[0].trust,
              domain::TrustLevel::UntrustedExternal);
}

TEST(OnReply, TheLastRoundMakesNoCallsAndSaysWhyTheTurnEnded) {
    const Step step =
        decide(thinking(3, 3), reply(3, {use("a", "ExecCommand"), use("b", "AgentGet")}), input());
    ASSERT_TRUE(step.closed());
    EXPECT_THAT(step.effects, IsEmpty());
    EXPECT_EQ(step.attempt.terminal->kind, domain::TerminalKind::Aborted);
    EXPECT_EQ(step.attempt.terminal->reason, "max_turns_exceeded");
    EXPECT_THAT(answers(step), ElementsAre(std::pair("a", "error: tool_call_not_made"),
                                           std::pair("b", "error: tool_call_not_made")));
    for (const auto& execution : step.executions) {
        EXPECT_EQ(execution.state, domain::CallState::Finished);
        EXPECT_EQ(execution.result->status, domain::ResultStatus::Skipped);
        EXPECT_EQ(execution.started_at, std::nullopt);
    }
    EXPECT_EQ(step.executions.size(), 2U);
    EXPECT_THAT(entries(step),
                ElementsAre(TranscriptKind::AssistantRound, TranscriptKind::ToolResults,
                            TranscriptKind::RuntimeFailure));
    EXPECT_EQ(step.briefs[0].text,
              "The turn failed: the turn reached its limit of 3 model rounds before it was done");
    EXPECT_EQ(step.release, (Release{domain::QueueStatus::Processed, "max_turns_exceeded"}));
}

TEST(OnReply, TheLastRoundMayEndTheTurnWithText) {
    for (const std::string_view stop : {"end_turn", "max_tokens"}) {
        const Step step =
            decide(thinking(3, 3), reply(3, {text("done")}, std::string(stop)), input());
        EXPECT_EQ(step.attempt.terminal->kind, domain::TerminalKind::Completed) << stop;
    }
}

TEST(OnReply, ATextCutOffByTheOutputLimitGoesOnTwiceAndIsThenTaken) {
    Facts facts = thinking();
    for (std::int64_t round = 1; round <= 2; ++round) {
        const Step step = decide(facts, reply(round, {text("part")}, "max_tokens"), input());
        EXPECT_EQ(step.attempt.state, domain::TurnState(domain::Thinking{round + 1, true}));
        EXPECT_EQ(step.effects, (std::vector<Effect>{AskModel{round + 1}}));
        EXPECT_EQ(step.attempt.output_limit_recoveries, round);
        EXPECT_THAT(entries(step), ElementsAre(TranscriptKind::AssistantRound,
                                               TranscriptKind::ContinuationPrompt));
        EXPECT_EQ(base::string_at(step.transcript[1].data, "reason"), "max_output_tokens");
        EXPECT_EQ(data_of(step, "max_output_tokens_recovery"),
                  (json::object{{"agent_id", "main"}, {"attempt", round}}));
        facts = after(facts, step);
    }
    const Step step = decide(facts, reply(3, {text("part")}, "max_tokens"), input());
    EXPECT_EQ(step.attempt.terminal->kind, domain::TerminalKind::Completed);
    EXPECT_EQ(step.attempt.output_limit_recoveries, 2);
    EXPECT_EQ(step.attempt.last_assistant_message, "partpartpart");  // One text, as it was meant.
}

TEST(OnReply, EachSpellingOfTheOutputLimitCounts) {
    for (const std::string_view stop :
         {"max_tokens", "max_output_tokens", "model_context_window_exceeded"})
        EXPECT_EQ(decide(thinking(), reply(1, {text("part")}, std::string(stop)), input()).effects,
                  (std::vector<Effect>{AskModel{2}}))
            << stop;
    EXPECT_TRUE(decide(thinking(), reply(1, {text("t")}, "stop_sequence"), input()).closed());
}

TEST(OnReply, AMutationOrCommandCutOffByTheOutputLimitIsNotMade) {
    for (const std::string tool : {"ApplyPatch", "CreateWorkItem", "PickWorkItem", "UpdateWorkItem",
                                   "CompleteWorkItem", "ExecCommand"}) {
        const Step step = decide(thinking(), reply(1, {use("a", tool)}, "max_tokens"), input());
        EXPECT_EQ(step.effects, (std::vector<Effect>{AskModel{2}})) << tool;
        EXPECT_EQ(step.attempt.state, domain::TurnState(domain::Thinking{2})) << tool;
        EXPECT_THAT(answers(step),
                    ElementsAre(std::pair("a", "error: truncated_mutation_tool_call")))
            << tool;
        EXPECT_THAT(step.statistics->tool_latency, IsEmpty()) << tool;
        const auto data = data_of(step, "truncated_mutation_tool_call_rejected");
        EXPECT_EQ(data.at("tool_call_id"), "call-a");
        EXPECT_EQ(data.at("tool_name"), json::value(tool));
        EXPECT_EQ(data.at("stop_reason"), "max_tokens");
        EXPECT_EQ(data.at("round"), 1);
        EXPECT_EQ(data.at("error_kind"), "truncated_mutation_tool_call");
        EXPECT_EQ(data.at("tool_error").at("retryable"), true);
    }
    EXPECT_EQ(decide(thinking(), reply(1, {use("a", "AgentGet")}, "max_tokens"), input()).effects,
              (std::vector<Effect>{RunTool{{"call-a"}}}));
    EXPECT_EQ(decide(thinking(), reply(1, {use("a", "ApplyPatch")}, "tool_use"), input()).effects,
              (std::vector<Effect>{RunTool{{"call-a"}}}));
}

TEST(OnReply, ACallThatIsNotMadeIsSteppedOverWhereverItStands) {
    Facts facts = after(thinking(), reply(1,
                                          {use("a", "ApplyPatch"), use("b", "AgentGet"),
                                           use("c", "ApplyPatch"), use("d", "AgentGet")},
                                          "max_tokens"));
    EXPECT_EQ(std::get<domain::AwaitingTools>(facts.attempt.state).next, 1);
    const Step second = decide(facts, done("b", "AgentGet"), input());
    EXPECT_EQ(second.effects, (std::vector<Effect>{RunTool{{"call-d"}}}));
    const Step third = decide(after(facts, second), done("d", "AgentGet"), input());
    EXPECT_THAT(answers(third), ElementsAre(std::pair("a", "error: truncated_mutation_tool_call"),
                                            std::pair("b", "receipt of b"),
                                            std::pair("c", "error: truncated_mutation_tool_call"),
                                            std::pair("d", "receipt of d")));
}

TEST(OnReply, CallsBeyondTheBoundOfARoundAreAnsweredAndNotMade) {
    std::vector<domain::Block> blocks;
    for (std::int64_t i = 0; i <= kCallsPerRoundMax; ++i)
        blocks.push_back(use(std::to_string(i), "AgentGet"));
    const Step step = decide(thinking(), reply(1, blocks), input());
    EXPECT_EQ(step.effects, (std::vector<Effect>{RunTool{{"call-0"}}}));
    int finished = 0;
    for (const auto& execution : step.executions)
        if (execution.state == domain::CallState::Finished) {
            ++finished;
            EXPECT_EQ(execution.ordinal, kCallsPerRoundMax);
            EXPECT_THAT(*execution.receipt, HasSubstr("tool_call_not_made"));
        }
    EXPECT_EQ(finished, 1);
    EXPECT_EQ(std::ssize(step.executions), kCallsPerRoundMax + 1);
}

TEST(OnReply, AReplyWithoutOneCallPerBlockIsABug) {
    auto replied = reply(1, {use("a", "AgentGet")});
    replied.calls.clear();
    EXPECT_THROW(decide(thinking(), replied, input()), base::Bug);
}

// contract: STATE-21, STATE-22
TEST(OnReply, TokensAndRoundsAddUpOverTheAgentsLife) {
    Facts facts = thinking();
    facts.statistics.total_input_tokens = 7;
    facts.statistics.total_output_tokens = 3;
    facts.statistics.total_model_rounds = 1;
    for (std::int64_t round = 1; round <= 2; ++round) {
        facts = after(facts, reply(round, {use(std::to_string(round), "AgentGet")}));
        facts = after(facts, done(std::to_string(round), "AgentGet"));
    }
    facts = after(facts, reply(3, {text("done")}));
    EXPECT_EQ(facts.statistics.total_input_tokens, 37);
    EXPECT_EQ(facts.statistics.total_output_tokens, 18);
    EXPECT_EQ(facts.statistics.total_model_rounds, 4);
    EXPECT_EQ(facts.statistics.last_turn_token_usage, (domain::TokenUsage{30, 15, 45}));
}

TEST(OnReply, ATurnThatWasToldNoUsageLeavesThatOfTheOneBefore) {
    Facts facts = thinking();
    facts.statistics.last_turn_token_usage = domain::TokenUsage{1, 2, 3};
    auto replied = reply(1, {text("done")});
    replied.reply.usage.reset();
    EXPECT_EQ(decide(facts, replied, input()).statistics->last_turn_token_usage,
              (domain::TokenUsage{1, 2, 3}));
}

// contract: MSG-43
TEST(OnReply, AResultBriefIsForTheOperatorAndHoldsNoReasoning) {
    const Step step =
        decide(thinking(),
               reply(1, {domain::ThinkingBlock{.text = "first I doubt it"}, text("It is done.")}),
               input());
    ASSERT_EQ(step.briefs.size(), 1U);
    EXPECT_EQ(step.briefs[0].kind, domain::BriefKind::Result);
    EXPECT_EQ(step.briefs[0].text, "It is done.");
    EXPECT_FALSE(base::json_text(base::to_json(step.briefs[0])).contains("doubt"));
}

}  // namespace
}  // namespace turn
