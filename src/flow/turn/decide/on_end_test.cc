// The model failed, somebody stopped the turn, or a new process found it open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flow/turn/decide/decide.h"
#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;
using domain::TranscriptKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

provider::Failure failure() {
    provider::Failure failed{.kind = provider::FailureKind::ServerError,
                             .message = "the model service answered 503",
                             .status = 503};
    failed.diagnostics = domain::TransportDiagnostics{
        .stage = "response_status", .source_chain = std::vector<std::string>{"overloaded"}};
    failed.timeline = {.attempts = {{.provider = "anthropic",
                                     .model_ref = "anthropic/big",
                                     .attempt = 1,
                                     .max_attempts = 2,
                                     .outcome = domain::AttemptOutcome::Retrying},
                                    {.provider = "openai",
                                     .model_ref = "openai/other",
                                     .outcome = domain::AttemptOutcome::RetriesExhausted}},
                       .requested_model_ref = "anthropic/big",
                       .aggregated_token_usage = domain::TokenUsage{100, 20, 120}};
    return failed;
}

Step fail_turn(provider::Failure failed) {
    return decide(thinking(2), ModelFailed{.round = 2, .failure = std::move(failed)}, input());
}

// contract: TURN-05
TEST(OnEnd, AFailedAndAnInterruptedTurnAreAborted) {
    EXPECT_EQ(fail_turn(failure()).attempt.terminal->kind, domain::TerminalKind::Aborted);
    EXPECT_EQ(fail_turn(failure()).attempt.terminal->reason, "server_error");
    const Step stopped = decide(thinking(), Interrupted{"operator_aborted"}, input());
    EXPECT_EQ(stopped.attempt.terminal->kind, domain::TerminalKind::Aborted);
    EXPECT_EQ(stopped.attempt.terminal->reason, "interrupted");
}

// contract: CLOSE-14, BRIEF-09
TEST(OnEnd, AFailedTurnTellsTheOperatorInWordsAndNamesTheMessage) {
    const Step step = fail_turn(failure());
    EXPECT_THAT(step.briefs,
                ElementsAre(domain::Brief{.kind = domain::BriefKind::Failure,
                                          .text = "The turn failed: the model service answered 503",
                                          .related_message_id = domain::MessageId{"m"}}));
    EXPECT_EQ(step.release, (Release{domain::QueueStatus::Processed, "server_error"}));
    EXPECT_EQ(step.statistics->last_runtime_failure->summary, "the model service answered 503");
    EXPECT_EQ(step.statistics->last_runtime_failure->phase, "runtime_turn");
    EXPECT_EQ(step.statistics->last_runtime_failure->occurred_at, kNow);
}

// contract: CLOSE-15
TEST(OnEnd, AFailedTurnLeavesAnEntryWithTextAndDiagnostics) {
    const Step step = fail_turn(failure());
    ASSERT_THAT(entries(step), ElementsAre(TranscriptKind::RuntimeFailure));
    const auto& entry = step.transcript[0];
    EXPECT_EQ(entry.round, 2);
    EXPECT_EQ(entry.related_message_id, domain::MessageId{"m"});
    const auto& data = entry.data.as_object();
    EXPECT_EQ(data.at("text"), "the model service answered 503");
    EXPECT_EQ(data.at("kind"), "operator_prompt");
    EXPECT_EQ(data.at("origin"), (json::value{{"kind", "operator"}}));
    EXPECT_EQ(data.at("authority_class"), "operator_instruction");
    EXPECT_EQ(data.at("delivery_surface"), "cli_prompt");
    EXPECT_EQ(data.at("admission_context"), "local_process");
    const auto& artifact = data.at("failure_artifact");
    EXPECT_EQ(artifact.at("category"), "transport");
    EXPECT_EQ(artifact.at("kind"), "server_error");
    EXPECT_EQ(artifact.at("provider"), "anthropic");
    EXPECT_EQ(artifact.at("status"), 503);
    EXPECT_EQ(artifact.at("source_chain"), (json::value(json::array{"overloaded"})));
}

// contract: CLOSE-16
TEST(OnEnd, AFailedTurnHasOneErrorEventThatNamesTheMessageAndItsLabels) {
    const auto data = data_of(fail_turn(failure()), "runtime_error");
    EXPECT_EQ(data.at("message_id"), "m");
    EXPECT_EQ(data.at("message_kind"), "operator_prompt");
    EXPECT_EQ(data.at("run_id"), "run");
    EXPECT_EQ(data.at("error"), "the model service answered 503");
    EXPECT_EQ(data.at("origin"), (json::value{{"kind", "operator"}}));
    EXPECT_EQ(data.at("trust"), "trusted_operator");
    EXPECT_EQ(data.at("priority"), "normal");
}

// contract: CLOSE-17, CLOSE-18
TEST(OnEnd, EntryAndEventListTheSameAttemptsAndTokens) {
    const Step step = fail_turn(failure());
    const auto event = data_of(step, "runtime_error");
    const auto& entry = step.transcript[0].data.as_object();
    for (const auto* data : {&event, &entry}) {
        EXPECT_EQ(data->at("provider_attempt_timeline"), base::to_json(failure().timeline));
        EXPECT_EQ(data->at("token_usage"), base::to_json(domain::TokenUsage{100, 20, 120}));
    }
    EXPECT_EQ(step.statistics->total_input_tokens, 100);
    EXPECT_EQ(step.statistics->total_output_tokens, 20);
    EXPECT_EQ(step.attempt.token_usage, (domain::TokenUsage{100, 20, 120}));
    auto quiet = failure();
    quiet.timeline.aggregated_token_usage.reset();
    EXPECT_FALSE(data_of(fail_turn(quiet), "runtime_error").contains("token_usage"));
}

TEST(OnEnd, APromptThatIsTooLongHasAnEventOfItsOwn) {
    auto failed = failure();
    EXPECT_THAT(kinds(fail_turn(failed)), ElementsAre("runtime_error", "turn_terminal"));
    failed.kind = provider::FailureKind::ContextLengthExceeded;
    Facts facts = thinking(2);
    facts.attempt.compaction_failures = kCompactionFailuresMax;
    const Step step = decide(facts, ModelFailed{2, failed}, input());
    EXPECT_THAT(kinds(step),
                ElementsAre("turn_context_length_exceeded", "runtime_error", "turn_terminal"));
    EXPECT_EQ(data_of(step, "turn_context_length_exceeded"),
              (json::object{{"agent_id", "main"},
                            {"round", 2},
                            {"error", "the model service answered 503"},
                            {"provider_attempt_timeline", base::to_json(failed.timeline)},
                            {"token_usage", base::to_json(domain::TokenUsage{100, 20, 120})}}));
    EXPECT_EQ(step.attempt.terminal->reason, "context_length_exceeded");
}

// contract: TURN-03
TEST(OnEnd, AnInterruptedTurnGivesItsMessageBackAndSaysNothingToTheOperator) {
    const Step step = decide(thinking(), Interrupted{"daemon_shutdown"}, input());
    EXPECT_EQ(step.attempt.state, domain::TurnState(domain::Closed{}));
    EXPECT_TRUE(step.attempt.terminal) << "a turn ends without any brief";
    EXPECT_EQ(step.release, (Release{domain::QueueStatus::Interrupted, "daemon_shutdown"}));
    EXPECT_THAT(step.briefs, IsEmpty());
    EXPECT_THAT(step.transcript, IsEmpty());
    EXPECT_EQ(data_of(step, "message_processing_aborted"),
              (json::object{{"message_id", "m"},
                            {"message_kind", "operator_prompt"},
                            {"run_id", "run"},
                            {"reason", "daemon_shutdown"},
                            {"origin", {{"kind", "operator"}}},
                            {"trust", "trusted_operator"},
                            {"authority_class", "operator_instruction"},
                            {"priority", "normal"},
                            {"delivery_surface", "cli_prompt"},
                            {"admission_context", "local_process"}}));
    EXPECT_THAT(kinds(step), ElementsAre("message_processing_aborted", "turn_terminal"));
}

TEST(OnEnd, AnInterruptionPairsEveryCallWithAResult) {
    const Facts facts =
        after(awaiting({{"a", "AgentGet"}, {"b", "ExecCommand"}, {"c", "AgentGet"}}),
              done("a", "AgentGet"));
    const Step ended =
        decide(facts, Interrupted{"stop", broke("b", "ExecCommand", "command_cancelled")}, input());
    EXPECT_THAT(answers(ended), ElementsAre(std::pair("a", "receipt of a"),
                                            std::pair("b", "error: command_cancelled"),
                                            std::pair("c", "error: tool_call_not_made")));
    const Step unstarted = decide(facts, Interrupted{"stop"}, input());
    EXPECT_THAT(answers(unstarted), ElementsAre(std::pair("a", "receipt of a"),
                                                std::pair("b", "error: tool_call_not_made"),
                                                std::pair("c", "error: tool_call_not_made")));
    for (const auto* step : {&ended, &unstarted}) {
        EXPECT_TRUE(step->closed());
        EXPECT_EQ(step->executions.size(), 2U);
        for (const auto& execution : step->executions)
            EXPECT_EQ(execution.state, domain::CallState::Finished);
        EXPECT_EQ(step->release, (Release{domain::QueueStatus::Interrupted, "stop"}));
    }
}

TEST(OnEnd, AResultThatBelongsToAnotherCallDoesNotStandForTheRunningOne) {
    const Facts facts = awaiting({{"a", "ExecCommand"}});
    const Step step = decide(facts, Interrupted{"stop", done("z", "ExecCommand")}, input());
    EXPECT_THAT(answers(step), ElementsAre(std::pair("a", "error: tool_call_not_made")));
}

// A process that ends has many turns open; it died of one of them at most, and that was counted
// before.
TEST(OnEnd, AResumedTurnAsksTheSameQuestionAgainAndCountsNoDeath) {
    Facts facts = thinking(3);
    facts.attempt.restarts = 4;
    const Step step = decide(facts, Resumed{}, input());
    EXPECT_EQ(step.attempt, facts.attempt);
    EXPECT_EQ(step.effects, (std::vector<Effect>{AskModel{3}}));
    EXPECT_EQ(data_of(step, "attempt_resumed"), (json::object{{"agent_id", "main"},
                                                              {"run_id", "run"},
                                                              {"message_id", "m"},
                                                              {"round", 3},
                                                              {"restarts", 4}}));
}

TEST(OnEnd, ACallThatMayBeRepeatedIsMadeAgain) {
    const Facts facts = awaiting({{"a", "AgentGet"}});
    const Step step = decide(facts, Resumed{}, input());
    EXPECT_EQ(step.effects, (std::vector<Effect>{RunTool{{"call-a"}}}));
    EXPECT_EQ(step.attempt.state, facts.attempt.state);
    EXPECT_EQ(step.attempt.restarts, 0);
}

TEST(OnEnd, AnUnknownOutcomeIsToldToTheModelAndNeverRepeated) {
    const Facts one = awaiting({{"a", "ExecCommand"}});
    const Step last = decide(one, Resumed{.unknown = broke("a", "ExecCommand")}, input());
    EXPECT_THAT(answers(last), ElementsAre(std::pair("a", "error: tool_outcome_unknown")));
    EXPECT_EQ(last.effects, (std::vector<Effect>{AskModel{2}}));
    EXPECT_THAT(kinds(last), ElementsAre("attempt_resumed", "tool_execution_failed"));

    const Facts two = awaiting({{"a", "ExecCommand"}, {"b", "ExecCommand"}});
    const Step next = decide(two, Resumed{.unknown = broke("a", "ExecCommand")}, input());
    EXPECT_EQ(next.effects, (std::vector<Effect>{RunTool{{"call-b"}}}));
}

TEST(OnEnd, ATurnThatTheProgramDiedOfTooOftenIsGivenUp) {
    Facts facts = thinking();
    facts.attempt.restarts = kRestartsMax;
    EXPECT_FALSE(decide(facts, Resumed{}, input()).closed());
    facts.attempt.restarts = kRestartsMax + 1;
    const Step step = decide(facts, Resumed{}, input());
    EXPECT_EQ(step.attempt.terminal->reason, "restarts_exhausted");
    EXPECT_EQ(step.attempt.restarts, kRestartsMax + 1);
    EXPECT_THAT(step.effects, IsEmpty());
    EXPECT_THAT(kinds(step), ElementsAre("attempt_resumed", "runtime_error", "turn_terminal"));
    EXPECT_EQ(step.briefs[0].kind, domain::BriefKind::Failure);
    EXPECT_EQ(step.release, (Release{domain::QueueStatus::Processed, "restarts_exhausted"}));
}

TEST(OnEnd, ATurnGivenUpAmongItsCallsSaysTruthfullyWhatBecameOfEach) {
    Facts facts = awaiting({{"a", "ExecCommand"}, {"b", "ExecCommand"}});
    facts.attempt.restarts = kRestartsMax + 1;
    const Step step = decide(facts, Resumed{.unknown = broke("a", "ExecCommand")}, input());
    ASSERT_TRUE(step.closed());
    EXPECT_THAT(answers(step), ElementsAre(std::pair("a", "error: tool_outcome_unknown"),
                                           std::pair("b", "error: tool_call_not_made")));
    EXPECT_THAT(step.effects, IsEmpty());
    EXPECT_THAT(step.briefs, Not(IsEmpty()));
}

}  // namespace
}  // namespace turn
