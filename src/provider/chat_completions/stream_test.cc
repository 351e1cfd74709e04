// The transport as it streams, and the events it reads.
#include "provider/chat_completions/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/chat_completions/codec.h"
#include "tests/support/stream_suite.h"

namespace provider {
namespace {

using test_support::Contract;
using testing::HasSubstr;

struct Streamed {
    static constexpr Contract kContract = Contract::ChatStream;
    static constexpr Contract kDocument = Contract::ChatCompletions;
    static constexpr std::string_view kLastEvent = "data: {\"id\":\"c-1\",\"choices\":[]";
    static constexpr std::string_view kPath = "/v1/chat/completions";
    std::unique_ptr<Codec> codec(const std::string& base_url, const std::string& key) {
        return chat_completions::make_codec({.base_url = base_url, .api_key = key, .stream = true});
    }
};
using StreamedHarness = test_support::TransportHarness<Streamed>;

Outcome read(std::initializer_list<std::string_view> events) {
    chat_completions::StreamReader reader;
    for (const auto event : events)
        if (auto step = reader.take(event); step.end) return std::move(*step.end);
    return reader.stop({.status = 200, .headers = {{"Content-Type", "text/event-stream"}}});
}

TEST(ChatStreamReader, PutsCallsTogetherHoweverTheyAreCut) {
    const std::vector<domain::Block> expected{domain::TextBlock{"Look"},
                                              domain::ToolUseBlock{"a", "Run", {{"x", 1}}},
                                              domain::ToolUseBlock{"b", "See", json::object()}};
    const std::string_view text = R"({"choices":[{"delta":{"content":"Look"}}]})";
    const std::string_view end = R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})";
    // By index, interleaved.
    EXPECT_EQ(read({text,
                    R"({"choices":[{"delta":{"tool_calls":[
                        {"index":0,"id":"a","function":{"name":"Run","arguments":"{\"x\""}},
                        {"index":1,"id":"b","function":{"name":"See"}}]}}]})",
                    R"({"choices":[{"delta":{"tool_calls":[
                        {"index":0,"function":{"arguments":":1}"}}]}}]})",
                    end, "[DONE]"})
                  ->blocks,
              expected);
    // Without an index, with the name in every piece and no [DONE].
    EXPECT_EQ(read({text,
                    R"({"choices":[{"delta":{"tool_calls":[
                        {"id":"a","function":{"name":"Run","arguments":"{\"x\""}}]}}]})",
                    R"({"choices":[{"delta":{"tool_calls":[
                        {"id":"a","function":{"name":"Run","arguments":":1}"}}]}}]})",
                    R"({"choices":[{"delta":{"tool_calls":[
                        {"id":"b","function":{"name":"See","arguments":{}}}]}}]})",
                    end})
                  ->blocks,
              expected);
}

TEST(ChatStreamReader, TakesCallsThatShareAnIndexOrCountFromOne) {
    const auto blocks = [](std::string_view index_a, std::string_view index_b) {
        const auto piece = [](std::string_view index, std::string_view id) {
            return fmt::format(R"({{"choices":[{{"delta":{{"tool_calls":[{{"index":{},"id":"{}",
                "function":{{"name":"Run","arguments":"{{}}"}}}}]}}}}]}})",
                               index, id);
        };
        const std::string a = piece(index_a, "a"), b = piece(index_b, "b");
        return read({a, b, R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})"})->blocks;
    };
    const std::vector<domain::Block> expected{domain::ToolUseBlock{"a", "Run", json::object()},
                                              domain::ToolUseBlock{"b", "Run", json::object()}};
    EXPECT_EQ(blocks("0", "0"), expected);
    EXPECT_EQ(blocks("1", "2"), expected);
}

TEST(ChatStreamReader, ThinkingIsKeptApartAndNotShown) {
    chat_completions::StreamReader reader;
    std::string shown;
    Outcome outcome = std::unexpected(Failure{});
    for (const std::string_view event :
         {R"({"choices":[{"delta":{"reasoning_content":"h","content":null}}]})",
          R"({"choices":[{"delta":{"reasoning":"m"}}]})",
          R"({"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]})", "[DONE]"}) {
        auto step = reader.take(event);
        shown += step.text_delta;
        if (step.end) outcome = std::move(*step.end);
    }
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(shown, "hi");
    EXPECT_EQ(outcome->blocks, (std::vector<domain::Block>{domain::ThinkingBlock{"hm", ""},
                                                           domain::TextBlock{"hi"}}));
}

TEST(ChatStreamReader, EveryEndIsClassified) {
    const std::vector<std::tuple<std::string_view, FailureKind, std::string_view>> rows{
        {R"({"error":{"code":"rate_limit_exceeded","message":"slower"}})", FailureKind::RateLimited,
         "the answer failed: slower"},
        {R"({"error":"context_length_exceeded"})", FailureKind::ContextLengthExceeded, ""},
        {R"({"error":{"code":503}})", FailureKind::ServerError, ""},
        {R"({"error":{"message":"m","type":null,"param":null,"code":"500"}})",
         FailureKind::ServerError, ""},
        {R"({"error":{"message":"m","type":null,"code":null}})", FailureKind::ServerError, ""},
        {R"({"object":"error","message":"m","type":"BadRequestError","code":400})",
         FailureKind::ContractError, ""},
        {R"({"error":{"code":502,"message":"lost"},
             "choices":[{"delta":{"content":""},"finish_reason":"error"}]})",
         FailureKind::ServerError, "lost"},
        {"[DONE]", FailureKind::InvalidResponse, "ended before the answer did"},
        {"{oops", FailureKind::InvalidResponse, "not valid JSON"},
        {"17", FailureKind::InvalidResponse, "not valid JSON"},
        {R"({"choices":[]})", FailureKind::InvalidResponse, "no choices"},
        {R"({"choices":[{"delta":{"content":"half"}}]})", FailureKind::InvalidResponse,
         "ended before the answer did"},
        {R"({"choices":[{"delta":{"tool_calls":[{"index":128}]}}]})", FailureKind::InvalidResponse,
         "over 128"},
        {R"({"choices":[{"delta":{"tool_calls":[{"index":-1}]}}]})", FailureKind::InvalidResponse,
         "over 128"},
    };
    for (const auto& [event, kind, message] : rows) {
        const Outcome outcome = read({event});
        ASSERT_FALSE(outcome.has_value()) << event;
        EXPECT_EQ(outcome.error().kind, kind) << event;
        EXPECT_THAT(outcome.error().message, HasSubstr(std::string(message)));
        EXPECT_EQ(outcome.error().diagnostics->stage, "streaming_response_body");
    }
    EXPECT_THAT(read({}).error().message, HasSubstr("not an event stream"));
}

}  // namespace
}  // namespace provider

namespace test_support {
INSTANTIATE_TYPED_TEST_SUITE_P(ChatCompletionsStream, TransportSuite, provider::Streamed);
INSTANTIATE_TYPED_TEST_SUITE_P(ChatCompletionsStream, StreamSuite, provider::Streamed);
}  // namespace test_support
namespace provider::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(ChatCompletionsStream, ProviderConformance, StreamedHarness);
}
