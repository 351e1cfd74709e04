#include "provider/openai_codex/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/openai_codex/wire.h"
#include "tests/support/codex_home.h"
#include "tests/support/transport_suite.h"

namespace provider {
namespace {

using test_support::CodexHome;
using test_support::Contract;
using test_support::FakeModelServer;
using test_support::run_until;
using testing::HasSubstr;

struct Transport {
    static constexpr Contract kContract = Contract::CodexStream;
    static constexpr std::string_view kPath = "/codex/responses";
    std::unique_ptr<Codec> codec(const std::string& base_url, const std::string& key) {
        home.log_in(key);
        return openai_codex::make_codec({.base_url = base_url, .codex_home = home.path});
    }
    CodexHome home;
};
using Harness = test_support::TransportHarness<Transport>;

class OpenaiCodexTest : public testing::Test {
protected:
    Outcome ask(Request request = conformance::question()) {
        HttpTransport provider = connect();
        streamed.clear();
        conformance::Asked asked;
        asked.ask(provider, std::move(request));
        EXPECT_TRUE(run_until(world.loop, [&] { return asked.is_done(); }));
        streamed = asked.streamed;
        return asked.outcomes.at(0);
    }
    HttpTransport connect() {
        return {world.http, world.clock,
                openai_codex::make_codec(
                    {.base_url = server.base_url() + "/backend/codex", .codex_home = home.path}),
                options};
    }
    json::value body() const { return base::parse_json(server.requests().back().body).value(); }

    FakeModelServer server;
    CodexHome home;
    test_support::TransportWorld world{.timeouts = {}};
    HttpTransportOptions options{.timeouts = kStreamTimeouts};
    std::string streamed;
};

TEST_F(OpenaiCodexTest, SendsTheHeadersAndBodyOfTheService) {
    home.log_in("token-1");
    server.always(test_support::says("hello", Contract::CodexStream));
    const Outcome outcome = ask();
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->usage, (domain::TokenUsage{10, 5, 15}));
    const auto request = server.requests().at(0);
    EXPECT_EQ(request.path, "/backend/codex/responses");
    EXPECT_EQ(request.headers.at("authorization"), "Bearer token-1");
    EXPECT_EQ(request.headers.at("chatgpt-account-id"), "acct_1");
    EXPECT_EQ(request.headers.at("openai-beta"), "responses=experimental");
    EXPECT_EQ(request.headers.at("originator"), "codex_cli_rs");
    EXPECT_EQ(request.headers.at("content-type"), "application/json");
    EXPECT_EQ(body().at("stream"), json::value(true));
}

TEST_F(OpenaiCodexTest, TheLoginIsReadForEveryRequest) {
    server.always(test_support::says("hello", Contract::CodexStream));
    const Outcome missing = ask();
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().kind, FailureKind::AuthError);
    EXPECT_THAT(missing.error().message, HasSubstr("log in with the Codex command line"));
    home.log_in("token-1");
    ASSERT_TRUE(ask().has_value());
    home.log_in("token-2");
    ASSERT_TRUE(ask().has_value());
    EXPECT_EQ(server.requests().at(1).headers.at("authorization"), "Bearer token-2");
}

TEST_F(OpenaiCodexTest, TextArrivesWhileTheResponseIsOnItsWay) {
    home.log_in("token-1");
    auto slow = test_support::says("one two three", Contract::CodexStream);
    slow.last_byte_delay = 10s;  // The end of the last event.
    slow.body.resize(slow.body.find("event: response.output_item.done") + 1);
    server.always(slow);
    HttpTransport provider = connect();
    conformance::Asked asked;
    asked.ask(provider, conformance::question());
    EXPECT_TRUE(run_until(world.loop, [&] { return asked.streamed == "one two three"; }));
    EXPECT_FALSE(asked.is_done());
    asked.cancel();
    EXPECT_TRUE(run_until(world.loop, [&] { return asked.is_done(); }));
}

TEST_F(OpenaiCodexTest, TextWithoutDeltasIsShownAtTheEnd) {
    home.log_in("token-1");
    server.always(test_support::streams(
        {{{"type", "response.completed"},
          {"response",
           {{"status", "completed"},
            {"output",
             {{{"type", "message"},
               {"content", {{{"type", "output_text"}, {"text", "All at once."}}}}}}}}}}}));
    ASSERT_TRUE(ask().has_value());
    EXPECT_EQ(streamed, "All at once.");
}

TEST_F(OpenaiCodexTest, AConnectionThatTheServerLeavesOpenIsClosed) {
    home.log_in("token-1");
    auto lingering = test_support::says("hello", Contract::CodexStream);
    lingering.body += ": still here\n\n";
    lingering.last_byte_delay = 15s;
    server.always(lingering);
    options.close_grace = 20ms;
    HttpTransport provider = connect();
    conformance::Asked asked;
    asked.ask(provider, conformance::question());
    ASSERT_TRUE(run_until(world.loop, [&] { return asked.is_done(); }, 10s));
    EXPECT_TRUE(asked.outcomes.at(0).has_value());
    const std::weak_ptr<Exchange> exchange = asked.exchange;
    asked.exchange.reset();
    EXPECT_TRUE(run_until(world.loop, [&] { return exchange.expired(); }, 10s));
}

}  // namespace
}  // namespace provider

namespace test_support {
INSTANTIATE_TYPED_TEST_SUITE_P(OpenaiCodex, TransportSuite, provider::Transport);
}
namespace provider::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(OpenaiCodex, ProviderConformance, Harness);
}
