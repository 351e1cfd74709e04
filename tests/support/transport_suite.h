// What every transport over HTTP must do when its server answers, fails or lies, as one test suite;
// and the harness by which such a transport runs the suite of provider/conformance.h.
//
// A Transport is default-constructible, outlives the codecs it makes and brings:
//
//     static constexpr Contract kContract;
//     static constexpr std::string_view kPath;       what comes behind the base URL
//     std::unique_ptr<provider::Codec> codec(const std::string& base_url, const std::string& key);
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/chain.h"
#include "provider/conformance.h"
#include "provider/http/http_client.h"
#include "provider/http/transport.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"

namespace test_support {

// Made anew for each question: on a kept connection libcurl answers a reset by sending once more.
struct TransportWorld {
    base::AsioLoop loop;
    base::SystemClock clock;
    base::RandomIds ids{clock};
    provider::HttpClient http{loop, {.proxy = ""}};
    provider::HttpTimeouts timeouts{};
    std::size_t body_bytes_max{100'000};

    std::shared_ptr<provider::Provider> connect(std::unique_ptr<provider::Codec> codec) {
        return std::make_shared<provider::HttpTransport>(
            http, clock, std::move(codec),
            provider::HttpTransportOptions{.timeouts = timeouts, .body_bytes_max = body_bytes_max});
    }
};

template <class Transport>
class TransportHarness {
public:
    base::Loop& loop() { return world_.loop; }
    bool run_until(const std::function<bool()>& condition) {
        return test_support::run_until(world_.loop, condition);
    }
    std::shared_ptr<provider::Provider> that_says(const std::string& text) {
        return answering(says(text, Transport::kContract));
    }
    std::shared_ptr<provider::Provider> that_calls(const domain::ToolUseBlock& call) {
        return answering(
            calls(call.name, base::json_text(call.input), call.id, Transport::kContract));
    }
    std::shared_ptr<provider::Provider> that_fails(provider::FailureKind kind) {
        return answering(status_reply(kind == provider::FailureKind::ServerError ? 503 : 401));
    }
    std::shared_ptr<provider::Provider> that_hangs() { return answering(hangs()); }
    void wait_until_asked() {
        EXPECT_TRUE(run_until([&] { return server_.request_count() > 0; }));
    }

private:
    std::shared_ptr<provider::Provider> answering(ServerReply reply) {
        server_.always(std::move(reply));
        return world_.connect(transport_.codec(server_.base_url(), "key-0123456789"));
    }
    FakeModelServer server_;
    Transport transport_;
    TransportWorld world_{.body_bytes_max = provider::kBodyBytesMax};
};

template <class Transport>
class TransportSuite : public testing::Test {
protected:
    using AttemptOutcome = domain::AttemptOutcome;

    static constexpr Contract kContract = Transport::kContract;
    static constexpr std::string_view kKey = "sk-live-0123456789abcdef";
    static constexpr provider::RetryPolicy kQuick{
        .backoff_step = 5ms, .jitter_max = 3ms, .retry_after_max = 40ms};

    // For a server that does not answer; nothing else may be held to so little time.
    static constexpr provider::HttpTimeouts kShort{.first_byte = 300ms, .idle = 300ms};

    provider::Outcome ask(const std::string& key = std::string(kKey),
                          const provider::HttpTimeouts& timeouts = {}) {
        return ask_at(server.base_url(), key, timeouts);
    }
    provider::Outcome ask_at(const std::string& base_url, const std::string& key,
                             const provider::HttpTimeouts& timeouts = {}) {
        TransportWorld world{.timeouts = timeouts};
        return ask_one(*world.connect(transport.codec(base_url, key)), world);
    }
    // With retries.
    provider::Outcome ask_chain(const std::string& base_url) {
        TransportWorld world{.timeouts = {.first_byte = 3s, .idle = 3s}};
        provider::Chain chain(
            {{"test/model-1", world.connect(transport.codec(base_url, std::string(kKey)))}},
            {.loop = world.loop, .clock = world.clock, .ids = world.ids, .policy = kQuick});
        return ask_one(chain, world);
    }
    static std::vector<AttemptOutcome> attempts(const provider::Outcome& outcome) {
        std::vector<AttemptOutcome> list;
        const auto& timeline = outcome ? outcome->timeline : outcome.error().timeline;
        for (const auto& attempt : timeline.attempts) list.push_back(attempt.outcome);
        return list;
    }
    // The good answer, with `from` in it replaced; a bad byte in its text, for instance.
    static ServerReply says_changed(std::string_view from, std::string_view to) {
        ServerReply reply = says("place", kContract);
        for (std::size_t at = reply.body.find(from); at != std::string::npos;
             at = reply.body.find(from, at + to.size()))
            reply.body.replace(at, from.size(), to);
        return reply;
    }
    // A body in the form of the contract that is not what it should be.
    static ServerReply with_document(std::string_view text) {
        if (!is_stream(kContract)) return with_body(std::string(text));
        return {.body = "data: " + std::string(text) + "\n\n",
                .headers = {{"Content-Type", "text/event-stream"}}};
    }
    // All text of an outcome, as it could reach a person or a log.
    static std::string everything(const provider::Outcome& outcome) {
        if (outcome) return base::json_text(outcome->request_diagnostics);
        std::string text = outcome.error().message;
        if (outcome.error().diagnostics)
            text += base::json_text(base::to_json(*outcome.error().diagnostics));
        return text;
    }

    FakeModelServer server;
    Transport transport;

private:
    static provider::Outcome ask_one(provider::Provider& provider, TransportWorld& world) {
        provider::conformance::Asked asked;
        asked.ask(provider, provider::conformance::question_with_results());
        EXPECT_TRUE(run_until(world.loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }
};
TYPED_TEST_SUITE_P(TransportSuite);

TYPED_TEST_P(TransportSuite, EveryFaultHasItsKind) {
    using provider::FailureKind;
    constexpr Contract kContract = TypeParam::kContract;
    ServerReply truncated = says("cut", kContract);
    truncated.truncate_after = 20;
    ServerReply slow = says("drip", kContract);
    slow.drip_bytes = 20;
    slow.drip_pause = 10s;
    const std::vector<std::tuple<std::string_view, ServerReply, FailureKind>> rows{
        {"429", rate_limited(), FailureKind::RateLimited},
        {"429, wait", rate_limited("7"), FailureKind::RateLimited},
        {"500", status_reply(500), FailureKind::ServerError},
        {"503", status_reply(503), FailureKind::ServerError},
        {"401", status_reply(401), FailureKind::AuthError},
        {"403", status_reply(403), FailureKind::AuthError},
        {"400", status_reply(400), FailureKind::ContractError},
        {"307", status_reply(307), FailureKind::ContractError},
        {"reset", resets(), FailureKind::Connection},
        {"truncated", truncated, FailureKind::Connection},
        {"slow", slow, FailureKind::Timeout},
        {"hang", hangs(), FailureKind::Timeout},
        {"malformed", this->with_document("{\"type\":"), FailureKind::InvalidResponse},
        {"another API", this->with_document(R"({"answer":42})"), FailureKind::InvalidResponse},
        {"web page", wrong_content_type(), FailureKind::InvalidResponse},
        {"empty", with_body(""), FailureKind::InvalidResponse},
        {"oversized", oversized(200'000), FailureKind::InvalidResponse},
    };
    for (const auto& [name, reply, kind] : rows) {
        SCOPED_TRACE(name);
        this->server.enqueue(reply);
        const provider::Outcome outcome =
            this->ask(std::string(this->kKey),
                      kind == FailureKind::Timeout ? this->kShort : provider::HttpTimeouts{});
        ASSERT_FALSE(outcome.has_value());
        EXPECT_EQ(outcome.error().kind, kind) << outcome.error().message;
        EXPECT_EQ(outcome.error().retry_after.has_value(), name == "429, wait");
        ASSERT_TRUE(outcome.error().diagnostics.has_value());
        EXPECT_EQ(outcome.error().diagnostics->url,
                  this->server.base_url() + std::string(TypeParam::kPath));
        EXPECT_EQ(outcome.error().diagnostics->provider, "test");
        EXPECT_EQ(outcome.error().diagnostics->model_ref, "test/model-1");
    }
}

TYPED_TEST_P(TransportSuite, TextWithBrokenCharactersIsRepaired) {
    this->server.enqueue(this->says_changed("place", "a\xff\\ud800"));
    const provider::Outcome outcome = this->ask();
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->blocks, (std::vector<domain::Block>{domain::TextBlock{"a\uFFFD\uFFFD"}}));
}

TYPED_TEST_P(TransportSuite, TheKeyIsSentButIsInNoFailureAndNoDiagnostics) {
    const std::string key(this->kKey);
    const std::string padding(290, 'x');  // So that an excerpt would end within the key.
    const std::vector<ServerReply> replies{
        status_reply(401, "bad key " + key),
        status_reply(500, padding + key),
        {.status = 401, .body = R"({"error":{"message":"Incorrect API key: )" + key + R"("}})"},
        {.status = 302, .headers = {{"Location", "http://x/?" + key}}},
        this->with_document(R"({"type":"error","error":{"message":")" + padding + key + R"("}})"),
        calls(key, "{oops", "call_a", TypeParam::kContract),
        {.body = "<p>", .headers = {{"Content-Type", key}}},
        says("fine", TypeParam::kContract),
        resets(),
        hangs(),
        oversized(200'000)};
    for (const auto& reply : replies) {
        this->server.enqueue(reply);
        const auto outcome = this->ask_at(
            fmt::format("http://user:{}@127.0.0.1:{}/{}", key, this->server.port(), key), key,
            this->kShort);
        for (std::size_t length = key.size(); length >= 12; --length)
            EXPECT_THAT(this->everything(outcome),
                        testing::Not(testing::HasSubstr(key.substr(0, length))));
    }
    bool was_sent = false;
    const auto requests = this->server.requests();
    for (const auto& [name, value] : requests[0].headers)
        was_sent = was_sent || value.contains(key);
    EXPECT_TRUE(was_sent);
    const auto refused = this->ask(key + "\nX-Evil: 1");
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(this->everything(refused), testing::Not(testing::HasSubstr(key)));
}

// contract: PROV-26
// contract: PROV-27
// contract: PROV-28
// contract: PROV-29
TYPED_TEST_P(TransportSuite, WhatMayGetBetterIsAskedAgain) {
    using domain::AttemptOutcome;
    // Ruling 19 replaces PROV-32: an answer that cannot be read may be readable a moment later.
    for (const ServerReply& reply :
         {hangs(), resets(), rate_limited(), status_reply(503), status_reply(408),
          status_reply(409), status_reply(425), this->with_document("{\"type\":"),
          this->with_document(R"({"answer":42})"), wrong_content_type()}) {
        this->server.enqueue(reply);
        this->server.enqueue(says("hello", TypeParam::kContract));
        EXPECT_THAT(this->attempts(this->ask_chain(this->server.base_url())),
                    testing::ElementsAre(AttemptOutcome::Retrying, AttemptOutcome::Succeeded));
    }
    std::string gone;
    {
        const FakeModelServer closed;
        gone = closed.base_url();
    }
    EXPECT_THAT(this->attempts(this->ask_chain(gone)).at(0), AttemptOutcome::Retrying);
}

// Ruling 20: the model receives an error for such a call and can send it again.
TYPED_TEST_P(TransportSuite, ArgumentsThatAreNoJsonAreKeptAsText) {
    this->server.enqueue(calls("Run", "{oops", "call_a", TypeParam::kContract));
    const provider::Outcome outcome = this->ask();
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->blocks,
              (std::vector<domain::Block>{domain::ToolUseBlock{"call_a", "Run", "{oops"}}));
}

// contract: PROV-30
// contract: PROV-31
TYPED_TEST_P(TransportSuite, WhatCannotGetBetterIsAskedOnce) {
    using domain::AttemptOutcome;
    for (const auto& reply :
         {status_reply(401), status_reply(403), status_reply(400), status_reply(404)}) {
        this->server.enqueue(reply);
        const std::size_t before = this->server.request_count();
        EXPECT_THAT(this->attempts(this->ask_chain(this->server.base_url())),
                    testing::ElementsAre(AttemptOutcome::FailFastAborted))
            << reply.body;
        EXPECT_EQ(this->server.request_count(), before + 1);
    }
}

REGISTER_TYPED_TEST_SUITE_P(TransportSuite, EveryFaultHasItsKind,
                            TextWithBrokenCharactersIsRepaired,
                            TheKeyIsSentButIsInNoFailureAndNoDiagnostics,
                            ArgumentsThatAreNoJsonAreKeptAsText, WhatMayGetBetterIsAskedAgain,
                            WhatCannotGetBetterIsAskedOnce);

}  // namespace test_support
