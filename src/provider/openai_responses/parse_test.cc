#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/openai_responses/wire.h"

namespace provider::openai_responses {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const base::Time kNow = base::parse_time("2031-01-02T03:04:05Z").value();

std::expected<Answer, Failure> parse(std::string_view body, std::int64_t status = 200,
                                     std::vector<HttpHeader> headers = {}) {
    return parse_response({status, std::move(headers), std::string(body)}, kNow);
}

TEST(ParseResponse, ReadsTextCallsUsageAndStopReason) {
    const auto answer = parse(R"({"id":"resp_1","status":"completed","error":null,"output":[
        {"type":"reasoning","id":"rs_1","summary":[]},
        {"type":"message","role":"assistant","content":[
            {"type":"output_text","text":"Looking."},{"type":"hologram"},
            {"type":"refusal","refusal":"Not that."},{"type":"output_text","text":""}]},
        {"type":"function_call","id":"fc_1","call_id":"c1","name":"Run",
         "arguments":"{\"a\":[1,null]}"},
        {"type":"function_call","id":"c2","name":"Look","arguments":" "},
        {"type":"custom_tool_call","call_id":"c3","name":"ApplyPatch","input":"*** Begin Patch"},
        {"type":"web_search_call"}, 7],
        "usage":{"input_tokens":10,"output_tokens":5,"total_tokens":99,
                 "input_tokens_details":{"cached_tokens":7}}})");
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->response_id, "resp_1");
    EXPECT_EQ(
        answer->reply,
        (Reply{.blocks = {domain::TextBlock{"Looking."}, domain::TextBlock{"Not that."},
                          domain::ToolUseBlock{"c1", "Run", {{"a", {1, nullptr}}}},
                          domain::ToolUseBlock{"c2", "Look", json::object()},
                          domain::ToolUseBlock{"c3", "ApplyPatch", {{"patch", "*** Begin Patch"}}}},
               .stop_reason = "completed",
               .usage = domain::TokenUsage{10, 5, 15},
               .cache_usage = domain::CacheUsage{7, 0, 3}}));
}

TEST(ParseResponse, AnAnswerAtTheOutputLimitKeepsWhatIsWhole) {
    const auto answer = parse(R"({"id":"r","status":"incomplete",
        "incomplete_details":{"reason":"max_output_tokens"},"output":[
        {"type":"message","content":[{"type":"output_text","text":"First"}]},
        {"type":"function_call","call_id":"c1","name":"Run","arguments":"{\"cmd\":\"l"}]})");
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->reply.stop_reason, "max_output_tokens");
    EXPECT_EQ(answer->reply.blocks, (std::vector<domain::Block>{domain::TextBlock{"First"}}));
}

TEST(ParseResponse, AResponseWhoseCallIdsAreOursIsNotContinued) {
    const std::string call = R"({"type":"function_call","name":"Run"})";
    const auto answer = parse(R"({"id":"resp_1","output":[)" + call + "," + call + "]}");
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->response_id, "");
    EXPECT_NE(std::get<domain::ToolUseBlock>(answer->reply.blocks[0]).id,
              std::get<domain::ToolUseBlock>(answer->reply.blocks[1]).id);
}

TEST(ParseResponse, WhatIsNoResponseIsInvalid) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {"", "not valid JSON (content type text/html)"},
        {"[]", "no output; is this a Responses API?"},
        {R"({"choices":[]})", "no output"},
        {R"({"output":[{"type":"hologram"}]})", "neither output nor a status"},
    };
    for (const auto& [body, message] : rows) {
        const auto answer = parse(body, 200, {{"content-type", "text/html"}});
        ASSERT_FALSE(answer.has_value()) << body;
        EXPECT_EQ(answer.error().kind, FailureKind::InvalidResponse) << body;
        EXPECT_THAT(answer.error().message, HasSubstr(std::string(message)));
    }
}

TEST(ParseResponse, AnAnswerWithoutAWordIsAReply) {
    const auto answer = parse(R"({"output":[],"status":"completed"})");
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->reply, (Reply{.stop_reason = "completed"}));
}

TEST(ParseResponse, ACallThatCannotBeReadIsKeptForTheModelToSendAgain) {
    const std::vector<std::pair<std::string_view, domain::ToolUseBlock>> rows{
        {R"({"type":"function_call","call_id":"c"})", {"c", "unnamed_tool", json::object()}},
        {R"({"type":"function_call","call_id":"c","name":"Run","arguments":"{a"})",
         {"c", "Run", "{a"}},
        {R"({"type":"function_call","call_id":"c","name":"Run","arguments":3})", {"c", "Run", 3}},
        {R"({"type":"custom_tool_call","call_id":"c","name":"Edit","input":7})", {"c", "Edit", 7}},
    };
    for (const auto& [item, call] : rows) {
        const auto answer = parse(fmt::format(R"({{"output":[{}],"status":"completed"}})", item));
        ASSERT_TRUE(answer.has_value()) << answer.error().message;
        EXPECT_EQ(answer->reply.blocks, (std::vector<domain::Block>{call})) << item;
    }
}

TEST(ParseResponse, UsageHasItsPartsAsOnEveryApi) {
    const auto answer = parse(R"({"status":"completed","output":[],"usage":{"input_tokens":100,
        "output_tokens":40,"input_tokens_details":{"cached_tokens":60},
        "output_tokens_details":{"reasoning_tokens":30}}})");
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->reply.usage, (domain::TokenUsage{100, 40, 140}));
    EXPECT_EQ(answer->reply.cache_usage, (domain::CacheUsage{60, 0, 40, 30}));
}

TEST(ParseResponse, AFailureHasItsKind) {
    const std::vector<std::tuple<std::int64_t, std::string_view, FailureKind>> rows{
        {429, "", FailureKind::RateLimited},
        {401, R"({"error":{"code":"invalid_api_key"}})", FailureKind::AuthError},
        {400, R"({"error":{"code":"context_length_exceeded"}})",
         FailureKind::ContextLengthExceeded},
        {400, R"({"error":{"type":"invalid_request_error"}})", FailureKind::ContractError},
        {503, "<html>", FailureKind::ServerError},
        {200, R"({"status":"failed","error":{"code":"server_error"},"output":[]})",
         FailureKind::ServerError},
    };
    for (const auto& [status, body, kind] : rows) {
        const auto answer = parse(body, status);
        ASSERT_FALSE(answer.has_value()) << body;
        EXPECT_EQ(answer.error().kind, kind) << status << body;
    }
    EXPECT_EQ(parse("", 429, {{"retry-after", "7"}}).error().retry_after, 7000ms);
}

TEST(RefusesPreviousResponse, OnlyIfTheErrorNamesIt) {
    const std::vector<std::tuple<std::int64_t, std::string_view, bool>> rows{
        {400, R"({"error":{"code":"previous_response_not_found"}})", true},
        {404, R"({"error":{"message":"Previous response with id 'r' not found."}})", true},
        {400, R"({"error":{"param":"previous_response_id"}})", true},
        {400, R"({"error":"unknown field previous_response_id"})", true},
        {400, R"({"error":{"message":"bad model"}})", false},
        {500, R"({"error":{"code":"previous_response_not_found"}})", false},
        {200, R"({"error":{"code":"previous_response_not_found"}})", false},
        {404, "previous_response", true},
        {404, R"({"error":{"message":"Response with id resp_9 not found"}})", true},
        {422, R"({"detail":[{"loc":["body","previous_response_id"],"msg":"Extra inputs"}]})", true},
        {422, R"({"detail":[{"loc":["body","model"],"msg":"Field required"}]})", false},
    };
    for (const auto& [status, body, refuses] : rows)
        EXPECT_EQ(refuses_previous_response({status, {}, std::string(body)}, "resp_9"), refuses)
            << body;
}

}  // namespace
}  // namespace provider::openai_responses
