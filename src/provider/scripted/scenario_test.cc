#include "provider/scripted/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace provider {
namespace {

using testing::HasSubstr;

TEST(Scenario, EveryMemberIsRead) {
    const auto scenario = parse_scenario(R"({"loop": true, "rounds": [{
        "text": "Hi", "tool_calls": [{"name": "ExecCommand", "input": {"cmd": "ls"}, "id": "a"}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4},
        "cache_usage": {"read_input_tokens": 1, "creation_input_tokens": 2}, "delay_ms": 20,
        "fault": {"kind": "rate_limited", "status": 429, "message": "slow", "retry_after_ms": 5,
                  "usage": {"input_tokens": 1, "output_tokens": 0}, "times": 2},
        "expect": {"last_result_contains": "README"}}]})");
    ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
    const Round round{
        .text = "Hi",
        .tool_calls = {{"ExecCommand", {{"cmd", "ls"}}, "a"}},
        .stop_reason = "tool_use",
        .usage = ScriptedUsage{3, 4},
        .cache_usage = domain::CacheUsage{1, 2},
        .delay_ms = 20,
        .fault = ScriptedFault{FailureKind::RateLimited, "slow", 429, 5, ScriptedUsage{1, 0}, 2},
        .expect = Expectation{"README"}};
    EXPECT_EQ(*scenario, (Scenario{{round}, true}));
}

TEST(Scenario, WhatIsLeftOutHasADefault) {
    const auto scenario =
        parse_scenario(R"({"rounds": [{}, {"tool_calls": [{"name": "Sleep"}]}]})");
    ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
    EXPECT_EQ(*scenario, (Scenario{{Round{}, Round{.tool_calls = {{"Sleep", json::object()}}}}}));
}

TEST(Scenario, MistakesAreNamedWithTheirPlace) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {R"({"rounds": [{"txt": "a"}]})",
         "/rounds/0/txt: is not a known field; did you mean 'text'"},
        {R"({"round": []})", "/rounds: is required"},
        {R"({"rounds": []})", "/rounds: expected at least one round"},
        {R"({"rounds": [{"delay_ms": -1}]})", "/rounds/0/delay_ms: expected 0 to"},
        {R"({"rounds": [{}, {"fault": {"kind": "odd", "message": "m"}}]})",
         "/rounds/1/fault/kind: expected one of timeout, connection, rate_limited"},
        {R"({"rounds": [{"fault": {"kind": "timeout", "message": "m", "times": 0}}]})",
         "/rounds/0/fault/times: expected 1 or more, got 0"},
        {R"({"rounds": [{"fault": {"kind": "timeout", "message": "m", "retry_after_ms": -4}}]})",
         "/rounds/0/fault/retry_after_ms: expected 0 to"},
        {R"({"rounds": [{"usage": {"input_tokens": -1, "output_tokens": 0}}]})",
         "/rounds/0: expected usage of 0 to"},
        {R"({"rounds": [{"tool_calls": [{"input": {}}]}]})",
         "/rounds/0/tool_calls/0/name: is required"},
        {"{", ""}};
    for (const auto& [text, message] : rows) {
        const auto scenario = parse_scenario(text);
        ASSERT_FALSE(scenario.has_value()) << text;
        EXPECT_THAT(scenario.error().message, HasSubstr(std::string(message)));
    }
}

TEST(Scenario, AFileIsNamedInItsErrors) {
    const auto scenario = load_scenario("/nonexistent/scenario.json");
    ASSERT_FALSE(scenario.has_value());
    EXPECT_THAT(scenario.error().message, HasSubstr("/nonexistent/scenario.json"));
}

}  // namespace
}  // namespace provider
