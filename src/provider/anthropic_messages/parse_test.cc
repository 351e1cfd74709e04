#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/anthropic_messages/wire.h"

namespace provider::anthropic_messages {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const base::Time kNow = base::parse_time("2031-01-02T03:04:05Z").value();

Outcome parse(std::string_view body, std::int64_t status = 200,
              std::vector<HttpHeader> headers = {}) {
    return parse_response({status, std::move(headers), std::string(body)}, kNow);
}

TEST(ParseResponse, ReadsBlocksUsageAndStopReason) {
    const Outcome outcome = parse(R"({"type":"message","content":[
        {"type":"thinking","thinking":"hm","signature":"sig"},
        {"type":"redacted_thinking","data":"enc"},
        {"type":"text","text":"Looking."},{"type":"text","text":""},
        {"type":"server_tool_use","id":"s1"},{"type":"hologram"},
        {"type":"tool_use","id":"c1","name":"Run","input":{"a":[1,null]}},
        {"type":"tool_use","id":"c2","name":"Look"}],
        "stop_reason":"tool_use",
        "usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":7,
                 "cache_creation_input_tokens":3}})");
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(*outcome,
              (Reply{.blocks = {domain::ThinkingBlock{"hm", "sig"},
                                domain::RedactedThinkingBlock{"enc"}, domain::TextBlock{"Looking."},
                                domain::ToolUseBlock{"c1", "Run", {{"a", {1, nullptr}}}},
                                domain::ToolUseBlock{"c2", "Look", json::object()}},
                     .stop_reason = "tool_use",
                     .usage = domain::TokenUsage{20, 5, 25},
                     .cache_usage = domain::CacheUsage{7, 3, 10}}));
}

TEST(ParseResponse, ATurnMayEndWithoutAWord) {
    EXPECT_EQ(parse(R"({"content":[],"stop_reason":"end_turn"})"),
              Outcome(Reply{.stop_reason = "end_turn"}));
}

TEST(ParseResponse, ACallThatCannotBeReadIsKeptForTheModelToSendAgain) {
    const std::vector<std::pair<std::string_view, domain::ToolUseBlock>> rows{
        {R"({"type":"tool_use","id":"c"})", {"c", "unnamed_tool", json::object()}},
        {R"({"type":"tool_use","id":"c","name":"Run","input":[1]})", {"c", "Run", {1}}},
        {R"({"type":"tool_use","id":"c","name":"Run","input":"{a"})", {"c", "Run", "{a"}},
    };
    for (const auto& [block, call] : rows) {
        const Outcome outcome = parse(fmt::format(R"({{"content":[{}]}})", block));
        ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
        EXPECT_EQ(outcome->blocks, (std::vector<domain::Block>{call})) << block;
    }
}

TEST(ParseResponse, WhatIsNoMessageIsInvalid) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {"", "not valid JSON (content type text/html)"},
        {"[]", "no content; is this a Messages API?"},
        {R"({"choices":[]})", "no content"},
        {R"({"content":"hi"})", "no content"},
        {R"({"content":[]})", "neither content nor a stop reason"},
    };
    for (const auto& [body, message] : rows) {
        const Outcome outcome = parse(body, 200, {{"content-type", "text/html"}});
        ASSERT_FALSE(outcome.has_value()) << body;
        EXPECT_EQ(outcome.error().kind, FailureKind::InvalidResponse) << body;
        EXPECT_THAT(outcome.error().message, HasSubstr(std::string(message)));
    }
}

TEST(ParseResponse, AFailureHasItsKind) {
    const std::vector<std::tuple<std::int64_t, std::string_view, FailureKind>> rows{
        {400, R"({"type":"error","error":{"type":"invalid_request_error",
                  "message":"prompt is too long: 210000 tokens > 200000 maximum"}})",
         FailureKind::ContextLengthExceeded},
        {400, R"({"error":{"message":"input length and `max_tokens` exceed context limit: 1"}})",
         FailureKind::ContextLengthExceeded},
        {400, R"({"error":{"type":"invalid_request_error"}})", FailureKind::ContractError},
        {400, R"({"error":{"type":"authentication_error"}})", FailureKind::AuthError},
        {401, R"({"error":{"type":"authentication_error"}})", FailureKind::AuthError},
        {403, R"({"error":{"type":"permission_error"}})", FailureKind::AuthError},
        {404, R"({"error":{"type":"not_found_error"}})", FailureKind::ContractError},
        {413, R"({"error":{"type":"request_too_large"}})", FailureKind::ContextLengthExceeded},
        {409, R"({"error":{"type":"invalid_request_error"}})", FailureKind::ServerError},
        {429, R"({"error":{"type":"rate_limit_error"}})", FailureKind::RateLimited},
        {500, R"({"error":{"type":"api_error"}})", FailureKind::ServerError},
        {529, R"({"error":{"type":"overloaded_error"}})", FailureKind::ServerError},
        {200, R"({"type":"error","error":{"type":"overloaded_error"}})", FailureKind::ServerError},
        {200, R"({"error":{"type":"odd"}})", FailureKind::ServerError},
        {400, R"({"error":{"type":"odd"}})", FailureKind::ContractError},
        {429, "", FailureKind::RateLimited},
        {503, "<html>", FailureKind::ServerError},
    };
    for (const auto& [status, body, kind] : rows) {
        const Outcome outcome = parse(body, status);
        ASSERT_FALSE(outcome.has_value()) << body;
        EXPECT_EQ(outcome.error().kind, kind) << status << body;
    }
    EXPECT_EQ(parse("", 429, {{"retry-after", "7"}}).error().retry_after, 7000ms);
}

}  // namespace
}  // namespace provider::anthropic_messages
