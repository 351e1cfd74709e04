// The transport as it streams, and the events it reads.
#include "provider/anthropic_messages/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/anthropic_messages/codec.h"
#include "tests/support/stream_suite.h"

namespace provider {
namespace {

using test_support::Contract;
using testing::HasSubstr;

struct Streamed {
    static constexpr Contract kContract = Contract::MessagesStream;
    static constexpr Contract kDocument = Contract::Messages;
    static constexpr std::string_view kLastEvent = "event: content_block_stop";
    static constexpr std::string_view kPath = "/v1/messages";
    std::unique_ptr<Codec> codec(const std::string& base_url, const std::string& key) {
        return anthropic_messages::make_codec(
            {.base_url = base_url, .credential = key, .stream = true});
    }
};
using StreamedHarness = test_support::TransportHarness<Streamed>;

Outcome read(std::initializer_list<std::string_view> events) {
    anthropic_messages::StreamReader reader;
    for (const auto event : events)
        if (auto step = reader.take(event); step.end) return std::move(*step.end);
    return reader.stop({.status = 200, .headers = {{"Content-Type", "text/event-stream"}}});
}

constexpr std::string_view kStart =
    R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":7,
        "cache_read_input_tokens":3,"output_tokens":1}}})";

TEST(MessagesStreamReader, PutsEveryKindOfBlockTogether) {
    const Outcome outcome = read(
        {kStart,
         R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking",
             "thinking":"","signature":""}})",
         R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta",
             "thinking":"hm"}})",
         R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta",
             "signature":"sig"}})",
         R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":"L"}})",
         R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ook"}})",
         R"({"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"?"}})",
         R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a",
             "name":"Run","input":{}}})",
         R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta",
             "partial_json":"{\"x\""}})",
         R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta",
             "partial_json":":1}"}})",
         R"({"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b",
             "name":"See","input":{"y":2}}})",
         R"({"type":"message_delta","delta":{"stop_reason":"tool_use"},
             "usage":{"output_tokens":5,"input_tokens":null}})",
         R"({"type":"message_stop"})"});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->blocks, (std::vector<domain::Block>{
                                   domain::ThinkingBlock{"hm", "sig"}, domain::TextBlock{"Look"},
                                   domain::ToolUseBlock{"a", "Run", {{"x", 1}}},
                                   domain::ToolUseBlock{"b", "See", {{"y", 2}}}}));
    EXPECT_EQ(outcome->stop_reason, "tool_use");
    EXPECT_EQ(outcome->usage, (domain::TokenUsage{10, 5, 15}));
    EXPECT_EQ(outcome->cache_usage, (domain::CacheUsage{3, 0, 7}));
}

TEST(MessagesStreamReader, EveryEndIsClassified) {
    const std::vector<std::tuple<std::string_view, FailureKind, std::string_view>> rows{
        {R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})",
         FailureKind::ServerError, "the message failed: busy"},
        {R"({"type":"error","error":{"type":"rate_limit_error"}})", FailureKind::RateLimited, ""},
        {R"({"type":"error","error":{"message":"prompt is too long"}})",
         FailureKind::ContextLengthExceeded, ""},
        {R"({"type":"error"})", FailureKind::ServerError, "without a reason"},
        {R"({"type":"error","error":{"message":"m","type":null,"code":"500"}})",
         FailureKind::ServerError, ""},
        {"{oops", FailureKind::InvalidResponse, "not valid JSON"},
        {R"({"type":"content_block_start","index":256,"content_block":{}})",
         FailureKind::InvalidResponse, "over 256"},
        {R"({"type":"content_block_start","content_block":{}})", FailureKind::InvalidResponse,
         "no index"},
        {R"({"type":"message_stop"})", FailureKind::InvalidResponse, "no message"},
        {kStart, FailureKind::InvalidResponse, "ended before the message did"},
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
INSTANTIATE_TYPED_TEST_SUITE_P(AnthropicMessagesStream, TransportSuite, provider::Streamed);
INSTANTIATE_TYPED_TEST_SUITE_P(AnthropicMessagesStream, StreamSuite, provider::Streamed);
}  // namespace test_support
namespace provider::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(AnthropicMessagesStream, ProviderConformance, StreamedHarness);
}
