// What a turn writes down, by its wire names.
#include "flow/turn/decide/records.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;
using testing::UnorderedElementsAre;

std::vector<std::string> keys(const json::object& data) {
    std::vector<std::string> list;
    for (const auto& member : data) list.emplace_back(member.key());
    return list;
}

ModelReplied wordy() {
    auto replied = reply(2,
                         {text(std::string(700, 'x')), use("a", "ExecCommand", {{"cmd", "ls"}}),
                          domain::ThinkingBlock{"secret thought", "sig"}, use("b", "AgentGet")},
                         "tool_use");
    replied.reply.cache_usage = domain::CacheUsage{4, 6};
    replied.reply.timeline = {.requested_model_ref = "anthropic/big",
                              .winning_model_ref = "openai/other"};
    replied.reply.request_diagnostics = {{"request_lowering_mode", "plain"}};
    return replied;
}

TEST(Records, TheResultsOfARoundNameTheImagesOfEachCall) {
    const json::value media =
        base::to_json(std::vector<domain::Media>{{"image/png", "a.png", "d", 3, 1, 1}});
    std::vector<domain::ToolExecution> executions(2);
    for (auto& execution : executions) execution.receipt = "seen";
    executions[0].envelope = json::object{{"status", "success"}, {"result", {{"media", media}}}};
    executions[1].envelope = json::object{{"status", "success"}, {"result", json::object()}};
    const auto entry = results_entry(thinking(2), 2, executions);
    const auto answers =
        base::from_json<std::vector<provider::ToolAnswer>>(entry.data.at("results")).value();
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(base::to_json(*answers[0].media), media);
    EXPECT_FALSE(answers[1].media);
}

TEST(Records, ImagesThatTheGateCannotReadStayOutside) {
    const json::value media =
        base::to_json(std::vector<domain::Media>{{"image/png", "a.png", "d", 3, 1, 1}});
    const auto is_shown = [&](domain::GatePolicy policy) {
        domain::ToolExecution execution;
        execution.envelope = json::object{{"status", "success"}, {"result", {{"media", media}}}};
        execution.result.emplace().gate =
            domain::GateMark{.policy = policy, .outcome = domain::GateOutcome::Accept};
        const auto entry = results_entry(thinking(2), 2, {execution});
        return entry.data.at("results").at(0).as_object().contains("media");
    };
    EXPECT_FALSE(is_shown(domain::GatePolicy::Enforce));
    EXPECT_TRUE(is_shown(domain::GatePolicy::Report));
}

// contract: PROV-68
TEST(Records, TheProviderEventIsTelemetryWithoutTextOrToolRequests) {
    const auto event = round_completed(thinking(2), wordy());
    EXPECT_EQ(event.kind, "provider_round_completed");
    EXPECT_EQ(event.data,
              (json::object{{"agent_id", "main"},
                            {"turn_index", 1},
                            {"run_id", "run"},
                            {"round", 2},
                            {"work_item_id", nullptr},
                            {"stop_reason", "tool_use"},
                            {"context_build_ms", 3},
                            {"provider_round_ms", 200},
                            {"provider_started_at", "2031-01-01T02:13:20.000000Z"},
                            {"provider_completed_at", "2031-01-01T02:13:20.200000Z"},
                            {"input_tokens", 10},
                            {"output_tokens", 5},
                            {"token_usage", base::to_json(domain::TokenUsage{10, 5, 15})},
                            {"tool_call_count", 2},
                            {"text_block_count", 1},
                            {"text_char_count", 700},
                            {"provider_cache_usage", base::to_json(domain::CacheUsage{4, 6})},
                            {"prompt_cache_key", "main:ctx:0"},
                            {"context_fingerprint", "f1"},
                            {"working_memory_revision", 2},
                            {"compression_epoch", 1},
                            {"requested_model", "anthropic/big"},
                            {"active_model", "openai/other"},
                            {"fallback_active", true},
                            {"provider_request_diagnostics", {{"request_lowering_mode", "plain"}}},
                            {"provider_attempt_timeline", base::to_json(wordy().reply.timeline)}}));
}

// contract: PROV-69
TEST(Records, TheRoundEventHasABoundedPreviewAndTheToolNames) {
    Facts facts = thinking(2);
    facts.attempt.work_item_id = domain::WorkItemId{"work_1"};
    const auto event = round_recorded(facts, wordy());
    EXPECT_EQ(event.kind, "assistant_round_recorded");
    EXPECT_EQ(event.data, (json::object{{"agent_id", "main"},
                                        {"turn_index", 1},
                                        {"run_id", "run"},
                                        {"round", 2},
                                        {"work_item_id", "work_1"},
                                        {"stop_reason", "tool_use"},
                                        {"text_preview", std::string(599, 'x') + "…"},
                                        {"text_block_count", 1},
                                        {"text_char_count", 700},
                                        {"tool_call_count", 2},
                                        {"tool_names", json::array{"ExecCommand", "AgentGet"}},
                                        {"has_text", true},
                                        {"has_tool_calls", true}}));
}

TEST(Records, ARoundIsKeptWholeInTheTranscript) {
    const auto entry = assistant_entry(thinking(2), wordy());
    EXPECT_EQ(entry.kind, domain::TranscriptKind::AssistantRound);
    EXPECT_EQ(entry.agent_id, domain::AgentId{"main"});
    EXPECT_EQ(entry.run_id, domain::RunId{"run"});
    EXPECT_EQ(entry.round, 2);
    EXPECT_EQ(entry.related_message_id, domain::MessageId{"m"});
    EXPECT_EQ(entry.stop_reason, "tool_use");
    EXPECT_EQ(entry.input_tokens, 10);
    EXPECT_EQ(entry.output_tokens, 5);
    EXPECT_EQ(entry.data.at("blocks"), base::to_json(wordy().reply.blocks));
    EXPECT_EQ(entry.data.at("fallback_active"), true);
    EXPECT_THAT(keys(entry.data.as_object()),
                UnorderedElementsAre(
                    "blocks", "work_item_id", "token_usage", "provider_cache_usage",
                    "prompt_cache_key", "context_fingerprint", "working_memory_revision",
                    "compression_epoch", "requested_model", "active_model", "fallback_active",
                    "provider_request_diagnostics", "provider_attempt_timeline"));
}

TEST(Records, AToolEventSaysWhatRanAndHowItEnded) {
    const Facts facts = after(thinking(), reply(1, {use("a", "ExecCommand", {{"cmd", "make"}})}));
    auto finished = done("a", "ExecCommand");
    finished.dispatched.result.data = json::value{{"exit_status", 3}};
    EXPECT_EQ(data_of(decide(facts, finished, input()), "tool_executed"),
              (json::object{{"agent_id", "main"},
                            {"turn_index", 1},
                            {"run_id", "run"},
                            {"round", 1},
                            {"work_item_id", nullptr},
                            {"tool_call_id", "call-a"},
                            {"tool_name", "ExecCommand"},
                            {"exec_command_cmd", "make"},
                            {"status", "ok"},
                            {"duration_ms", 20},
                            {"summary", "did a"},
                            {"error", nullptr},
                            {"exit_status", 3}}));
    const auto data = data_of(decide(facts, broke("a", "ExecCommand", "execution_failed"), input()),
                              "tool_execution_failed");
    EXPECT_EQ(data.at("status"), "error");
    EXPECT_EQ(data.at("error_kind"), "execution_failed");
    EXPECT_EQ(data.at("tool_error").at("message"), "unknown");
    EXPECT_EQ(base::parse_json(std::string_view(data.at("error").as_string())).value(),
              data.at("tool_error"));
}

TEST(Records, CommandLinesAreShownWhereTheToolDeclaresThem) {
    const auto shown = [](tools::CommandLines lines) {
        Input declared = input();
        const tools::ToolSpec spec{.command_lines = lines};
        declared.spec_of = [&spec](const std::string&) { return &spec; };
        const Facts facts = after(thinking(), reply(1, {use("a", "AnyName", {{"cmd", "make"}})}));
        return data_of(decide(facts, done("a", "AnyName"), declared), "tool_executed")
            .contains("exec_command_cmd");
    };
    EXPECT_TRUE(shown(tools::CommandLines::One));
    EXPECT_FALSE(shown(tools::CommandLines::None));
}

TEST(Records, ABatchListsItsCommands) {
    const Facts facts = after(
        thinking(), reply(1, {use("a", "ExecCommandBatch",
                                  {{"items", json::array{{{"cmd", "make"}}, {{"cmd", "ls"}}}}})}));
    EXPECT_EQ(data_of(decide(facts, done("a", "ExecCommandBatch"), input()), "tool_executed")
                  .at("exec_command_batch_items"),
              (json::value(json::array{json::object{{"index", 0}, {"cmd", "make"}},
                                       json::object{{"index", 1}, {"cmd", "ls"}}})));
}

TEST(Records, TheTerminalEventIsTheTerminalRecordOfTheRun) {
    const Step step = decide(thinking(), reply(1, {text("done")}), input());
    json::object expected = base::to_json(*step.attempt.terminal).as_object();
    expected["run_id"] = "run";
    EXPECT_EQ(data_of(step, "turn_terminal"), expected);
}

// contract: FAIL-03, FAIL-08
TEST(Records, EveryKindOfFailureHasOneOfFiveCategoriesAndTheUnclassifiedIsUnknown) {
    std::set<std::string_view> categories;
    for (const auto& name : base::typed::type_of<provider::FailureKind>().names) {
        const provider::Failure failure{.kind = *base::enum_from<provider::FailureKind>(name),
                                        .message = "m"};
        const auto artifact = failure_artifact(failure, "a/b");
        EXPECT_EQ(artifact.kind, name);
        categories.insert(base::enum_name(artifact.category));
    }
    EXPECT_THAT(categories, UnorderedElementsAre("transport", "protocol", "unknown"));
    EXPECT_THAT(base::typed::type_of<domain::FailureCategory>().names,
                UnorderedElementsAre("transport", "protocol", "runtime", "task", "unknown"));
    EXPECT_EQ(failure_artifact({.message = "something odd"}, "a/b").category,
              domain::FailureCategory::Unknown);
}

}  // namespace
}  // namespace turn
