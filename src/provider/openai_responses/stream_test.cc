// The transport as it streams, and the events it reads.
#include "provider/openai_responses/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/openai_responses/codec.h"
#include "tests/support/stream_suite.h"

namespace provider {
namespace {

using test_support::Contract;
using test_support::FakeModelServer;
using test_support::run_until;

struct Streamed {
    static constexpr Contract kContract = Contract::CodexStream;
    static constexpr Contract kDocument = Contract::Responses;
    static constexpr std::string_view kLastEvent = "event: response.output_item.done";
    static constexpr std::string_view kPath = "/responses";
    std::unique_ptr<Codec> codec(const std::string& base_url, const std::string& key) {
        return openai_responses::make_codec({.base_url = base_url, .api_key = key, .stream = true});
    }
};
using StreamedHarness = test_support::TransportHarness<Streamed>;

// A stream can be continued like a document, and so can its refusal to be.
TEST(OpenaiResponsesStream, ContinuesFromTheResponseBefore) {
    FakeModelServer server;
    test_support::TransportWorld world{.timeouts = kStreamTimeouts};
    const auto provider = world.connect(openai_responses::make_codec(
        {.base_url = server.base_url(), .stream = true, .keeps_state = true}));
    const auto ask = [&](const Request& request) {
        conformance::Asked asked;
        asked.ask(*provider, request);
        EXPECT_TRUE(run_until(world.loop, [&] { return asked.is_done(); }));
        EXPECT_TRUE(asked.outcomes.at(0).has_value());
        return base::parse_json(server.requests().back().body).value();
    };
    Request request = conformance::question();
    request.frame.cache = PromptCache{"main", "main:ctx:1", "f1"};
    server.enqueue(test_support::says("one", Contract::CodexStream));
    ask(request);
    request.conversation.emplace_back(AssistantTurn{{domain::TextBlock{"one"}}});
    request.conversation.emplace_back(UserTurn{{{Stability::TurnScoped, "more"}}});
    server.enqueue(test_support::streams(
        {{{"type", "error"},
          {"error", {{"code", "previous_response_not_found"}, {"message", "gone"}}}}}));
    server.enqueue(test_support::says("two", Contract::CodexStream));
    EXPECT_FALSE(ask(request).as_object().contains("previous_response_id"));
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 3U);
    EXPECT_EQ(base::parse_json(requests[1].body).value().at("previous_response_id"), "resp_1");
}

}  // namespace
}  // namespace provider

namespace test_support {
INSTANTIATE_TYPED_TEST_SUITE_P(OpenaiResponsesStream, TransportSuite, provider::Streamed);
INSTANTIATE_TYPED_TEST_SUITE_P(OpenaiResponsesStream, StreamSuite, provider::Streamed);
}  // namespace test_support
namespace provider::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(OpenaiResponsesStream, ProviderConformance, StreamedHarness);
}
