#include "provider/chat_completions/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/transport_suite.h"

namespace provider {
namespace {

using test_support::Contract;
using test_support::FakeModelServer;
using test_support::run_until;
using testing::SizeIs;

struct Transport {
    static constexpr Contract kContract = Contract::ChatCompletions;
    static constexpr std::string_view kPath = "/v1/chat/completions";
    std::unique_ptr<Codec> codec(const std::string& base_url, const std::string& key) {
        return chat_completions::make_codec({.base_url = base_url, .api_key = key});
    }
};
using Harness = test_support::TransportHarness<Transport>;

constexpr std::string_view kKey = "sk-live-0123456789abcdef";

class ChatCompletionsTest : public testing::Test {
protected:
    Outcome ask(const std::optional<std::string>& key = std::string(kKey)) {
        const auto provider = world.connect(
            chat_completions::make_codec({.base_url = server.base_url(), .api_key = key}));
        conformance::Asked asked;
        asked.ask(*provider, conformance::question_with_results());
        EXPECT_TRUE(run_until(world.loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }

    FakeModelServer server;
    test_support::TransportWorld world;
};

TEST_F(ChatCompletionsTest, SendsOneJsonDocumentWithTheKeyAndKeepsThePairs) {
    server.enqueue(test_support::says("hello"));
    const Outcome outcome = ask();
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->usage, (domain::TokenUsage{10, 5, 15}));
    EXPECT_EQ(base::string_at(outcome->request_diagnostics, "request_lowering_mode"),
              "full_request");
    const auto requests = server.requests();
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].path, "/v1/chat/completions");
    EXPECT_EQ(requests[0].headers.at("authorization"), "Bearer " + std::string(kKey));
    EXPECT_EQ(requests[0].headers.at("content-type"), "application/json");
    const json::value body = base::parse_json(requests[0].body).value();
    EXPECT_EQ(body.at("stream"), json::value(false));
    const auto& messages = body.at("messages").as_array();
    EXPECT_EQ(messages.at(2).at("tool_calls").at(0).at("id"), messages.at(3).at("tool_call_id"));
}

TEST_F(ChatCompletionsTest, AnOpenServerGetsNoCredential) {
    server.always(test_support::says("hello"));
    for (const std::optional<std::string>& key : {std::optional<std::string>{}, {""}, {" \n"}})
        ASSERT_TRUE(ask(key).has_value());
    for (const auto& request : server.requests())
        EXPECT_FALSE(request.headers.contains("authorization"));
}

TEST_F(ChatCompletionsTest, APromptTooLongHasItsKind) {
    server.enqueue(test_support::error_reply(400, "", "context_length_exceeded"));
    const Outcome outcome = ask();
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().kind, FailureKind::ContextLengthExceeded);
}

}  // namespace
}  // namespace provider

namespace test_support {
INSTANTIATE_TYPED_TEST_SUITE_P(ChatCompletions, TransportSuite, provider::Transport);
}
namespace provider::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(ChatCompletions, ProviderConformance, Harness);
}
