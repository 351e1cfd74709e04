#include "provider/anthropic_messages/codec.h"

#include <gtest/gtest.h>

#include "tests/support/transport_suite.h"

namespace provider {
namespace {

using anthropic_messages::CredentialHeader;
using test_support::Contract;
using test_support::FakeModelServer;
using test_support::run_until;

struct Transport {
    static constexpr Contract kContract = Contract::Messages;
    static constexpr std::string_view kPath = "/v1/messages";
    std::unique_ptr<Codec> codec(const std::string& base_url, const std::string& key) {
        return anthropic_messages::make_codec({.base_url = base_url,
                                               .credential = key,
                                               .credential_header = CredentialHeader::ApiKey});
    }
};
using Harness = test_support::TransportHarness<Transport>;

class AnthropicMessagesTest : public testing::Test {
protected:
    AnthropicMessagesTest() { server.always(test_support::says("hello", Contract::Messages)); }
    test_support::RecordedRequest sent_with(anthropic_messages::Options options) {
        options.base_url = server.base_url();
        const auto provider = world.connect(anthropic_messages::make_codec(std::move(options)));
        conformance::Asked asked;
        asked.ask(*provider, conformance::question());
        EXPECT_TRUE(run_until(world.loop, [&] { return asked.is_done(); }));
        EXPECT_TRUE(asked.outcomes.at(0).has_value());
        return server.requests().back();
    }

    FakeModelServer server;
    test_support::TransportWorld world;
};

TEST_F(AnthropicMessagesTest, AnApiKeyAndATokenHaveTheirOwnHeader) {
    const auto by_key =
        sent_with({.credential = "k-1\n", .credential_header = CredentialHeader::ApiKey});
    EXPECT_EQ(by_key.path, "/v1/messages");
    EXPECT_EQ(by_key.headers.at("x-api-key"), "k-1");
    EXPECT_EQ(by_key.headers.at("anthropic-version"), "2023-06-01");
    EXPECT_FALSE(by_key.headers.contains("authorization"));
    EXPECT_FALSE(by_key.headers.contains("anthropic-beta"));
    const auto by_token = sent_with({.credential = "t-1"});
    EXPECT_EQ(by_token.headers.at("authorization"), "Bearer t-1");
    EXPECT_FALSE(by_token.headers.contains("x-api-key"));
    const auto open = sent_with({.credential = " "});
    EXPECT_FALSE(open.headers.contains("authorization") || open.headers.contains("x-api-key"));
}

TEST_F(AnthropicMessagesTest, ImitatesNobody) {
    const auto request = sent_with({.credential = "t-1"});
    const json::value body = base::parse_json(request.body).value();
    for (const auto* name : {"metadata", "temperature", "betas", "stream", "context_management"})
        EXPECT_EQ(base::find(body, name), nullptr) << name;
    EXPECT_FALSE(request.body.contains("billing"));
}

TEST_F(AnthropicMessagesTest, ContextManagementIsAnnounced) {
    const auto request = sent_with({.context_management = ContextManagement{}});
    EXPECT_EQ(request.headers.at("anthropic-beta"), "context-management-2025-06-27");
    EXPECT_TRUE(request.body.contains("clear_tool_uses_20250919"));
}

}  // namespace
}  // namespace provider

namespace test_support {
INSTANTIATE_TYPED_TEST_SUITE_P(AnthropicMessages, TransportSuite, provider::Transport);
}
namespace provider::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(AnthropicMessages, ProviderConformance, Harness);
}
