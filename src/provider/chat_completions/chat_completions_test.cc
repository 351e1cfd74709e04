#include "provider/chat_completions/chat_completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/conformance.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"

namespace provider {
namespace {

using test_support::FakeModelServer;
using test_support::run_until;
using test_support::ServerReply;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kKey = "sk-live-0123456789abcdef";

class ChatCompletionsTest : public testing::Test {
protected:
    ChatCompletionsOptions options() {
        return {.base_url = server.base_url(),
                .api_key = std::string(kKey),
                .timeouts = {.first_byte = 300ms, .idle = 300ms},
                .body_bytes_max = 100'000};
    }
    // On a connection of its own: on a kept one, libcurl answers a reset by sending once more.
    Outcome ask(ChatCompletionsOptions options) {
        HttpClient http{loop, {.proxy = ""}};
        ChatCompletions provider(http, clock, std::move(options));
        conformance::Asked asked;
        asked.ask(provider, conformance::question_with_results());
        EXPECT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }

    FakeModelServer server;
    base::AsioLoop loop;
    base::SystemClock clock;
};

TEST_F(ChatCompletionsTest, SendsOneJsonDocumentWithTheKeyAndKeepsThePairs) {
    server.enqueue(test_support::says("hello"));
    const Outcome outcome = ask(options());
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
    for (const std::optional<std::string>& key : {std::optional<std::string>{}, {""}, {" \n"}}) {
        auto open = options();
        open.api_key = key;
        ASSERT_TRUE(ask(open).has_value());
    }
    for (const auto& request : server.requests())
        EXPECT_FALSE(request.headers.contains("authorization"));
}

TEST_F(ChatCompletionsTest, EveryFaultHasItsKind) {
    ServerReply truncated = test_support::says("cut");
    truncated.truncate_after = 20;
    ServerReply slow = test_support::says("drip");
    slow.drip_bytes = 20;
    slow.drip_pause = 10s;
    const std::vector<std::tuple<std::string_view, ServerReply, FailureKind>> rows{
        {"429", test_support::rate_limited(), FailureKind::RateLimited},
        {"500", test_support::status_reply(500), FailureKind::ServerError},
        {"503", test_support::status_reply(503), FailureKind::ServerError},
        {"401", test_support::status_reply(401), FailureKind::AuthError},
        {"400", test_support::status_reply(400), FailureKind::ContractError},
        {"307", test_support::status_reply(307), FailureKind::ContractError},
        {"too long", test_support::error_reply(400, "", "context_length_exceeded"),
         FailureKind::ContextLengthExceeded},
        {"reset", test_support::resets(), FailureKind::Connection},
        {"truncated", truncated, FailureKind::Connection},
        {"slow", slow, FailureKind::Timeout},
        {"hang", test_support::hangs(), FailureKind::Timeout},
        {"malformed", test_support::with_body("{\"choices\":"), FailureKind::InvalidResponse},
        {"web page", test_support::wrong_content_type(), FailureKind::InvalidResponse},
        {"oversized", test_support::oversized(200'000), FailureKind::InvalidResponse},
        {"bad arguments", test_support::calls("Run", "{oops"), FailureKind::InvalidResponse},
    };
    for (const auto& [name, reply, kind] : rows) {
        SCOPED_TRACE(name);
        server.enqueue(reply);
        const Outcome outcome = ask(options());
        ASSERT_FALSE(outcome.has_value());
        EXPECT_EQ(outcome.error().kind, kind) << outcome.error().message;
        ASSERT_TRUE(outcome.error().diagnostics.has_value());
        EXPECT_EQ(outcome.error().diagnostics->url, server.base_url() + "/v1/chat/completions");
        EXPECT_EQ(outcome.error().diagnostics->provider, "test");
        EXPECT_EQ(outcome.error().diagnostics->model_ref, "test/model-1");
    }
}

TEST_F(ChatCompletionsTest, TextWithBrokenCharactersIsRepaired) {
    server.enqueue(
        test_support::with_body("{\"choices\":[{\"message\":{\"content\":\"a\xff\"}}]}"));
    const Outcome outcome = ask(options());
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->blocks, (std::vector<domain::Block>{domain::TextBlock{"a\uFFFD"}}));
}

// All text of a failure, as it could reach a person or a log.
std::string everything(const Failure& failure) {
    std::string text = failure.message;
    if (failure.diagnostics) text += base::json_text(base::to_json(*failure.diagnostics));
    return text;
}

TEST_F(ChatCompletionsTest, TheKeyIsInNoFailure) {
    const std::string key(kKey);
    const std::string padding(290, 'x');  // So that an excerpt would end within the key.
    std::vector<ServerReply> replies{
        test_support::status_reply(401, "bad key " + key),
        test_support::status_reply(500, padding + key),
        {.status = 401, .body = R"({"error":{"message":"Incorrect API key: )" + key + R"("}})"},
        {.status = 302, .headers = {{"Location", "http://x/?" + key}}},
        test_support::with_body(R"({"error":{"message":"no )" + key + R"("}})"),
        test_support::calls(key, "{oops"),
        {.body = "<p>", .headers = {{"Content-Type", key}}},
        test_support::resets(),
        test_support::hangs(),
        test_support::oversized(200'000)};
    for (const auto& reply : replies) {
        server.enqueue(reply);
        auto with_key_in_url = options();
        with_key_in_url.base_url =
            fmt::format("http://user:{}@127.0.0.1:{}/{}", key, server.port(), key);
        const Outcome outcome = ask(with_key_in_url);
        ASSERT_FALSE(outcome.has_value());
        for (std::size_t length = key.size(); length >= 12; --length)
            EXPECT_THAT(everything(outcome.error()), Not(HasSubstr(key.substr(0, length))));
    }
    auto split = options();
    split.api_key = key + "\nX-Evil: 1";
    const Outcome refused = ask(split);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(everything(refused.error()), Not(HasSubstr(key)));
}

}  // namespace

namespace conformance {
namespace {

class ChatCompletionsHarness {
public:
    base::Loop& loop() { return loop_; }
    bool run_until(const std::function<bool()>& condition) {
        return test_support::run_until(loop_, condition);
    }
    std::shared_ptr<Provider> that_says(std::string text) {
        return answering(test_support::says(text));
    }
    std::shared_ptr<Provider> that_calls(const domain::ToolUseBlock& call) {
        return answering(test_support::calls(call.name, base::json_text(call.input), call.id));
    }
    std::shared_ptr<Provider> that_fails(FailureKind kind) {
        return answering(test_support::status_reply(kind == FailureKind::ServerError ? 503 : 401));
    }
    std::shared_ptr<Provider> that_hangs() { return answering(test_support::hangs()); }
    void wait_until_asked() {
        EXPECT_TRUE(run_until([&] { return server_.request_count() > 0; }));
    }

private:
    std::shared_ptr<Provider> answering(ServerReply reply) {
        server_.always(std::move(reply));
        return std::make_shared<ChatCompletions>(
            http_, clock_, ChatCompletionsOptions{.base_url = server_.base_url()});
    }
    FakeModelServer server_;
    base::AsioLoop loop_;
    base::SystemClock clock_;
    HttpClient http_{loop_, {.proxy = ""}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(ChatCompletions, ProviderConformance, ChatCompletionsHarness);

}  // namespace
}  // namespace conformance
}  // namespace provider
