#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/chat_completions/wire.h"

namespace provider::chat_completions {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

const base::Time kNow = base::parse_time("2031-01-02T03:04:05Z").value();

Outcome parse(std::string_view body, std::int64_t status = 200,
              std::vector<HttpHeader> headers = {}) {
    return parse_response({status, std::move(headers), std::string(body)}, kNow);
}

// A reply whose first choice is `choice`.
Outcome parse_choice(std::string_view choice) {
    return parse(fmt::format(R"({{"choices":[{}]}})", choice));
}

std::vector<domain::Block> text(std::string said) {
    return {domain::TextBlock{std::move(said)}};
}

TEST(ParseResponse, ReadsTextCallsUsageAndStopReason) {
    const Outcome outcome = parse(R"({"id":"x","choices":[{"finish_reason":"tool_calls","message":{
        "role":"assistant","content":"Looking.","reasoning_content":"hm","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"Run","arguments":"{\"a\":[1,null]}"}},
            {"id":"c2","function":{"name":"Look","arguments":{"b":2}}}]}},
        {"message":{"content":"second choice"}}],
        "usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":99,
                 "prompt_tokens_details":{"cached_tokens":7}}})");
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(*outcome,
              (Reply{.blocks = {domain::ThinkingBlock{"hm", ""}, domain::TextBlock{"Looking."},
                                domain::ToolUseBlock{"c1", "Run", {{"a", {1, nullptr}}}},
                                domain::ToolUseBlock{"c2", "Look", {{"b", 2}}}},
                     .stop_reason = "tool_calls",
                     .usage = domain::TokenUsage{10, 5, 15},
                     .cache_usage = domain::CacheUsage{7, 0, 3}}));
}

struct GoodRow {
    std::string_view name, choice;
    Reply reply;
};

TEST(ParseResponse, AcceptsWhatServersReallySend) {
    const domain::ToolUseBlock run{"c1", "Run", json::object()};
    const std::vector<GoodRow> rows{
        {"text", R"({"message":{"content":"hi"},"finish_reason":"stop"})", {text("hi"), "stop"}},
        {"no finish reason", R"({"message":{"content":"hi"}})", {text("hi"), ""}},
        {"null finish reason",
         R"({"message":{"content":"hi"},"finish_reason":null})",
         {text("hi"), ""}},
        {"length",
         R"({"message":{"content":"cut"},"finish_reason":"length"})",
         {text("cut"), "max_tokens"}},
        {"empty but finished",
         R"({"message":{"content":""},"finish_reason":"stop"})",
         {{}, "stop"}},
        {"nothing but finished", R"({"message":{},"finish_reason":"stop"})", {{}, "stop"}},
        {"a call without a name",
         R"({"message":{"tool_calls":[{"id":"c"}]}})",
         {{domain::ToolUseBlock{"c", "unnamed_tool", json::object()}}, ""}},
        {"arguments that are no JSON",
         R"({"message":{"tool_calls":[{"id":"c1","function":{"name":"Run","arguments":"{a"}}]}})",
         {{domain::ToolUseBlock{"c1", "Run", "{a"}}, ""}},
        {"arguments that are no object",
         R"({"message":{"tool_calls":[{"id":"c1","function":{"name":"Run","arguments":3}}]}})",
         {{domain::ToolUseBlock{"c1", "Run", 3}}, ""}},
        {"DeepSeek and Kimi think apart",
         R"({"message":{"content":"hi","reasoning_content":"hm"}})",
         {{domain::ThinkingBlock{"hm", ""}, domain::TextBlock{"hi"}}, ""}},
        {"vLLM and OpenRouter name it otherwise",
         R"({"message":{"content":"hi","reasoning":"hm"}})",
         {{domain::ThinkingBlock{"hm", ""}, domain::TextBlock{"hi"}}, ""}},
        {"Mistral sends parts",
         R"({"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},
             {"type":"text","text":"hi"}]}})",
         {{domain::ThinkingBlock{"hm", ""}, domain::TextBlock{"hi"}}, ""}},
        {"null tool calls", R"({"message":{"content":"hi","tool_calls":null}})", {text("hi"), ""}},
        {"null content with a call",
         R"({"message":{"content":null,"tool_calls":[{"id":"c1","function":{"name":"Run",
             "arguments":"{}"}}]}})",
         {{run}, ""}},
        {"blank arguments",
         R"({"message":{"tool_calls":[{"id":"c1","function":{"name":"Run","arguments":" \n"}}]}})",
         {{run}, ""}},
        {"no arguments",
         R"({"message":{"tool_calls":[{"id":"c1","function":{"name":"Run"}}]}})",
         {{run}, ""}},
        {"a lone surrogate", R"({"message":{"content":"a\ud800b"}})", {text("a\uFFFDb"), ""}},
        {"invalid UTF-8", "{\"message\":{\"content\":\"a\xff\"}}", {text("a\uFFFD"), ""}},
        {"a lone surrogate in arguments",
         R"({"message":{"tool_calls":[{"id":"c1","function":{"name":"Run",
             "arguments":"{\"x\":\"\\ud800\"}"}}]}})",
         {{domain::ToolUseBlock{"c1", "Run", {{"x", "\uFFFD"}}}}, ""}},
    };
    for (const auto& row : rows) {
        const Outcome outcome = parse_choice(row.choice);
        ASSERT_TRUE(outcome.has_value()) << row.name << outcome.error().message;
        EXPECT_EQ(*outcome, row.reply) << row.name;
    }
}

TEST(ParseResponse, MissingOrRepeatedCallIdsAreMadeUp) {
    const std::string_view choice = R"({"message":{"tool_calls":[
        {"function":{"name":"A"}}, {"id":"","function":{"name":"B"}},
        {"id":"same","function":{"name":"C"}}, {"id":"same","function":{"name":"D"}}]}})";
    const Outcome first = parse_choice(choice);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    EXPECT_EQ(first, parse_choice(choice));
    std::vector<std::string> ids;
    for (const auto& block : first->blocks) ids.push_back(std::get<domain::ToolUseBlock>(block).id);
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 4U);
    EXPECT_THAT(ids[0], StartsWith("call_"));
    EXPECT_EQ(ids[2], "same");
}

TEST(ParseResponse, UsageIsOptionalAndNeverOverflows) {
    const auto usage = [](std::string_view text) {
        return parse(fmt::format(R"({{"choices":[{{"message":{{"content":"x"}}}}],"usage":{}}})",
                                 text))
            ->usage;
    };
    EXPECT_EQ(usage("null"), std::nullopt);
    EXPECT_EQ(usage(R"({"prompt_tokens":-5,"completion_tokens":9223372036854775807})"),
              (domain::TokenUsage{0, 1'000'000'000'000, 1'000'000'000'000}));
}

TEST(ParseResponse, UsageHasItsPartsHoweverTheServerNamesThem) {
    const std::vector<std::tuple<std::string_view, domain::TokenUsage, domain::CacheUsage>> rows{
        {R"({"prompt_tokens":100,"completion_tokens":40,"prompt_tokens_details":
            {"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":30}})",
         {100, 40, 140},
         {60, 0, 40, 30}},
        {R"({"prompt_tokens":100,"completion_tokens":40,"prompt_cache_hit_tokens":60,
            "prompt_cache_miss_tokens":40})",
         {100, 40, 140},
         {60, 0, 40, 0}},
        {R"({"prompt_tokens":100,"completion_tokens":40,"cached_tokens":60})",
         {100, 40, 140},
         {60, 0, 40, 0}},
        {R"({"prompt_tokens":100,"completion_tokens":40,"prompt_tokens_details":
            {"cached_tokens":60,"cache_creation_tokens":10}})",
         {100, 40, 140},
         {60, 10, 30, 0}},
        {R"({"prompt_tokens":100,"completion_tokens":10,"total_tokens":140,
            "completion_tokens_details":{"reasoning_tokens":30}})",
         {100, 40, 140},
         {0, 0, 100, 30}},
    };
    for (const auto& [usage, tokens, parts] : rows) {
        const auto reply = parse(
            fmt::format(R"({{"choices":[{{"message":{{"content":"x"}}}}],"usage":{}}})", usage));
        EXPECT_EQ(reply->usage, tokens) << usage;
        EXPECT_EQ(reply->cache_usage, parts) << usage;
    }
}

TEST(ParseResponse, InvalidBodiesSayWhatIsWrong) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {"", "not valid JSON (content type text/html)"},
        {"<html>", "not valid JSON"},
        {R"({"choices":[)", "not valid JSON"},
        {"[]", "has no choices"},
        {"3", "has no choices"},
        {R"({"output":[]})", "has no choices; is this a Chat Completions API?"},
        {R"({"choices":{}})", "has no choices"},
        {R"({"choices":[]})", "choices are empty"},
        {R"({"choices":[3]})", "has no message"},
        {R"({"choices":[{"message":{}}]})", "neither content nor a finish reason"},
        {R"({"choices":[{"message":{"content":7}}]})", "content is not text"},
    };
    for (const auto& [body, message] : rows) {
        const Outcome outcome = parse(body, 200, {{"content-type", "text/html"}});
        ASSERT_FALSE(outcome.has_value()) << body;
        EXPECT_EQ(outcome.error().kind, FailureKind::InvalidResponse) << body;
        EXPECT_THAT(outcome.error().message, HasSubstr(std::string(message)));
        EXPECT_EQ(outcome.error().diagnostics->stage, "response_body");
        EXPECT_TRUE(outcome.error().diagnostics->reqwest->is_decode);
    }
}

struct ErrorRow {
    std::int64_t status;
    std::string_view body;
    FailureKind kind;
};

TEST(ParseResponse, ErrorsAreClassifiedByCodeThenTypeThenStatus) {
    const std::vector<ErrorRow> rows{
        {400, R"({"error":{"code":"context_length_exceeded"}})",
         FailureKind::ContextLengthExceeded},
        {400, R"({"error":{"message":"This model's maximum context length is 8192 tokens."}})",
         FailureKind::ContextLengthExceeded},
        {413, R"({"error":"context_length_exceeded: too long"})",
         FailureKind::ContextLengthExceeded},
        {500, R"({"error":{"code":"context_length_exceeded"}})",
         FailureKind::ContextLengthExceeded},
        {400, R"({"error":{"code":"rate_limit_exceeded"}})", FailureKind::RateLimited},
        {400, R"({"error":{"code":"invalid_api_key","type":"invalid_request_error"}})",
         FailureKind::AuthError},
        {400, R"({"error":{"code":"max_tokens"}})", FailureKind::ContractError},
        {400, R"({"error":{"code":"service_unavailable"}})", FailureKind::ServerError},
        {400, R"({"error":{"type":"rate_limit_error","code":null}})", FailureKind::RateLimited},
        {401, R"({"error":{"type":"authentication_error"}})", FailureKind::AuthError},
        {401, R"({"error":{"type":"invalid_request_error"}})", FailureKind::AuthError},
        {408, R"({"error":{"type":"invalid_request_error"}})", FailureKind::Timeout},
        {409, R"({"error":{"type":"invalid_request_error"}})", FailureKind::ServerError},
        {425, "", FailureKind::ServerError},
        {400, R"([{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}])",
         FailureKind::ContractError},
        {200, R"({"error":{"message":"m","type":null,"code":"500"}})", FailureKind::ServerError},
        {200, R"({"error":{"message":"m","type":null,"code":"401"}})", FailureKind::AuthError},
        {200, R"({"error":{"message":"m","type":null,"code":null}})", FailureKind::ServerError},
        {200, R"({"error":{"message":"m","code":"model_not_found"}})", FailureKind::ContractError},
        {401, R"({"error":{"type":"odd"}})", FailureKind::AuthError},
        {404, R"({"error":{"type":"odd"}})", FailureKind::ContractError},
        {429, R"({"error":{"type":"invalid_request_error"}})", FailureKind::RateLimited},
        {429, R"({"error":{"code":"insufficient_quota"}})", FailureKind::AuthError},
        {500, R"({"error":{"type":"invalid_request_error"}})", FailureKind::ServerError},
        {503, R"({"error":{"code":"invalid_api_key"}})", FailureKind::ServerError},
        {200, R"({"error":{"message":"m","code":429}})", FailureKind::RateLimited},
        {200, R"({"error":{"message":"m","code":502}})", FailureKind::ServerError},
        {200, R"({"error":{"message":"m"}})", FailureKind::ServerError},
        {200, R"({"error":"m"})", FailureKind::ServerError},
        {400, "<html>", FailureKind::ContractError},
        {403, "", FailureKind::AuthError},
        {429, "", FailureKind::RateLimited},
        {502, "bad gateway", FailureKind::ServerError},
        {302, "", FailureKind::ContractError},
        {0, "", FailureKind::Unknown},
    };
    for (const auto& row : rows) {
        const Outcome outcome = parse(row.body, row.status);
        ASSERT_FALSE(outcome.has_value()) << row.body;
        EXPECT_EQ(outcome.error().kind, row.kind) << row.status << row.body;
        EXPECT_EQ(outcome.error().status, row.status);
        EXPECT_EQ(outcome.error().diagnostics->stage, "response_status");
    }
}

TEST(ParseResponse, AnErrorNullNextToChoicesIsNoError) {
    EXPECT_TRUE(parse(R"({"error":null,"choices":[{"message":{"content":"x"}}]})").has_value());
}

TEST(ParseResponse, ErrorTextIsOneShortLine) {
    const Outcome long_text = parse(
        R"({"error":{"message":"no\n\u001b[31m such model )" + std::string(5000, 'x') + "\"}}",
        404);
    EXPECT_THAT(long_text.error().message, StartsWith("HTTP 404: no \\x1b[31m such model xxx"));
    EXPECT_LT(long_text.error().message.size(), 400U);
    EXPECT_EQ(parse("", 500).error().message, "HTTP 500");
    EXPECT_THAT(parse("moved", 301).error().message, HasSubstr("redirects"));
    EXPECT_TRUE(parse("moved", 301).error().diagnostics->reqwest->is_redirect);
}

TEST(ParseResponse, RetryAfterIsKept) {
    EXPECT_EQ(parse("", 429, {{"Retry-After", "7"}}).error().retry_after, 7000ms);
    EXPECT_EQ(
        parse("", 503, {{"retry-after", "Thu, 02 Jan 2031 03:04:15 GMT"}}).error().retry_after,
        10s);
    EXPECT_EQ(parse("", 429, {{"retry-after", "later"}}).error().retry_after, std::nullopt);
}

}  // namespace
}  // namespace provider::chat_completions
