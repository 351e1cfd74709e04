#include "provider/scripted/play.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace provider {
namespace {

using testing::HasSubstr;

// A conversation in which `rounds` answers were given, each followed by one tool result.
Request after(std::size_t rounds, std::string last_result = "ok") {
    Request request{.conversation = {UserTurn{}}};
    for (std::size_t i = 0; i < rounds; ++i) {
        request.conversation.emplace_back(AssistantTurn{});
        request.conversation.emplace_back(ToolResultsTurn{{{"call", last_result, false}}});
    }
    return request;
}

Reply said(std::string text, std::string stop_reason = "end_turn") {
    return {.blocks = {domain::TextBlock{std::move(text)}},
            .stop_reason = std::move(stop_reason),
            .request_diagnostics = {{"request_lowering_mode", "scripted"}}};
}

TEST(Play, TheConversationDecidesTheRound) {
    const Scenario scenario{{Round{.text = "one"}, Round{.text = "two"}}};
    EXPECT_EQ(play(scenario, after(0), 0), Played{said("one")});
    EXPECT_EQ(play(scenario, after(1), 0), Played{said("two")});
    EXPECT_EQ(play(scenario, after(1), 0), Played{said("two")});
}

TEST(Play, PastTheEndIsAContractErrorUnlessItLoops) {
    Scenario scenario{{Round{.text = "one"}, Round{.text = "two"}}};
    const auto past = play(scenario, after(2), 0);
    ASSERT_FALSE(past.outcome.has_value());
    EXPECT_EQ(past.outcome.error(), (Failure{.kind = FailureKind::ContractError,
                                             .message = "the scenario has no round 3"}));
    scenario.loop = true;
    EXPECT_EQ(play(scenario, after(2), 0), Played{said("one")});
}

TEST(Play, MissingCallIdsAreMadeUpAndNeverRepeat) {
    const Round round{.tool_calls = {{"A", {{"x", 1}}}, {"B", json::object(), "mine"}, {"C"}}};
    const Scenario scenario{{round}, true};
    const auto blocks = [](std::string first, std::string third) {
        return std::vector<domain::Block>{
            domain::ToolUseBlock{std::move(first), "A", {{"x", 1}}},
            domain::ToolUseBlock{"mine", "B", json::object()},
            domain::ToolUseBlock{std::move(third), "C", json::object()}};
    };
    EXPECT_EQ(play(scenario, after(0), 0).outcome->blocks, blocks("call_1_1", "call_1_3"));
    EXPECT_EQ(play(scenario, after(1), 0).outcome->blocks, blocks("call_2_1", "call_2_3"));
    EXPECT_EQ(play(scenario, after(0), 0).outcome->stop_reason, "tool_use");
}

TEST(Play, AWorkItemIsNamedByTheLastResultsOrThePrompt) {
    const std::string offered = "work_" + std::string(32, 'a');
    const std::string made = "work_" + std::string(32, 'b');
    const Round round{.tool_calls = {{"PickWorkItem", {{"work_item_id", "$work_item"}}}}};
    const auto id_in = [](const Played& played) {
        return std::get<domain::ToolUseBlock>(played.outcome->blocks.front()).input;
    };
    auto first = after(0);
    first.frame.context_blocks = {{Stability::TurnScoped, "work_none"},
                                  {Stability::TurnScoped, "work_item " + offered + ": do it"}};
    EXPECT_EQ(id_in(play({{round, round}}, first, 0)), (json::object{{"work_item_id", offered}}));
    auto later = after(1, "created " + made);
    later.frame = first.frame;
    EXPECT_EQ(id_in(play({{round, round}}, later, 0)), (json::object{{"work_item_id", made}}));
}

TEST(Play, AFaultComesAsOftenAsItSaysThenTheRoundSucceeds) {
    const ScriptedFault fault{FailureKind::RateLimited, "slow", 429, 1500, ScriptedUsage{7, 1}, 2};
    const Scenario scenario{{Round{.text = "one", .delay_ms = 5, .fault = fault}}};
    const Played failed{std::unexpected(Failure{.kind = FailureKind::RateLimited,
                                                .message = "slow",
                                                .status = 429,
                                                .retry_after = std::chrono::milliseconds(1500),
                                                .usage = domain::TokenUsage{7, 1, 8}}),
                        std::chrono::milliseconds(5), true};
    EXPECT_EQ(play(scenario, after(0), 0), failed);
    EXPECT_EQ(play(scenario, after(0), 1), failed);
    EXPECT_EQ(play(scenario, after(0), 2), (Played{said("one"), std::chrono::milliseconds(5)}));
}

TEST(Play, ASceneAnswersTheTurnsWhoseInputFits) {
    Scenario scenario{{Round{.text = "one"}, Round{.text = "two"}}};
    scenario.scenes = {{.when = "parser", .rounds = {Round{.text = "p1"}, Round{.text = "p2"}}},
                       {.when = "pars", .rounds = {Round{.text = "never"}}}};
    auto about = after(1);
    about.frame.context_blocks = {{.text = "the parser"}, {.text = "fix the parser"}};
    EXPECT_EQ(play(scenario, about, 0), Played{said("p2")});
    EXPECT_EQ(round_index(scenario, about), 3U);
    about.frame.context_blocks.back().text = "something else";
    EXPECT_EQ(play(scenario, about, 0), Played{said("two")});
    about.frame.context_blocks.back().text = "parser";
    about.conversation = after(2).conversation;
    EXPECT_FALSE(play(scenario, about, 0).outcome.has_value());
}

TEST(Play, ATaskThatTheInputNamesCanBeUsedInACall) {
    const Scenario scenario{
        {Round{.tool_calls = {{.name = "TaskStop", .input = {{"task_id", "$task"}}}}}}};
    auto request = after(0);
    request.frame.context_blocks = {{.text = "[m:01c0379d-3c00-7000-a245-bd5fbb686f68]\n\nTask "
                                             "01c0379d-3c00-700d-b8bc-fc057e745a63 is over"}};
    const auto played = play(scenario, request, 0);
    const auto& call = std::get<domain::ToolUseBlock>(played.outcome->blocks.at(0));
    EXPECT_EQ(base::string_at(call.input, "task_id"), "01c0379d-3c00-700d-b8bc-fc057e745a63");
}

TEST(Play, UsageIsTotalled) {
    const Scenario scenario{{Round{.usage = ScriptedUsage{10, 5}, .cache_usage = {{4, 0}}}}};
    const auto played = play(scenario, after(0), 0);
    EXPECT_EQ(played.outcome->usage, (domain::TokenUsage{10, 5, 15}));
    EXPECT_EQ(played.outcome->cache_usage, (domain::CacheUsage{4, 0}));
}

TEST(Play, AnUnmetExpectationSaysWhatCame) {
    const Scenario scenario{
        {Round{.text = "one"}, Round{.text = "two", .expect = Expectation{"README"}}}};
    EXPECT_EQ(play(scenario, after(1, "a README here"), 0), Played{said("two")});

    const auto wrong = play(scenario, after(1, std::string(5000, 'x') + "\x1b[31m"), 0);
    ASSERT_FALSE(wrong.outcome.has_value());
    EXPECT_EQ(wrong.outcome.error().kind, FailureKind::ContractError);
    EXPECT_THAT(wrong.outcome.error().message,
                HasSubstr("round 2 expects a tool result that contains 'README', but 'xxx"));
    EXPECT_LT(wrong.outcome.error().message.size(), 400U);

    const Scenario first{{Round{.expect = Expectation{"README"}}}};
    EXPECT_THAT(play(first, after(0), 0).outcome.error().message, HasSubstr("but none came"));
}

}  // namespace
}  // namespace provider
