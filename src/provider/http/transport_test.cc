// Who owns an exchange, and what is left of it when its owners go. What all APIs have in common is
// shown by the suites that each of them runs (tests/support/transport_suite.h).
#include "provider/http/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/conformance.h"
#include "provider/http/received.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"

namespace provider {
namespace conformance {
// Only its makers are used here; each API runs the suite itself.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProviderConformance);
}  // namespace conformance
namespace {

using conformance::question;
using test_support::FakeModelServer;
using test_support::run_until;
using test_support::ServerReply;
using testing::ElementsAre;

Reply reply_of(std::string text) {
    return {.blocks = {domain::TextBlock{std::move(text)}}, .stop_reason = "end"};
}

// Every event is text, but for "end" and "fail".
class PlainEvents final : public EventReader {
public:
    Step take(std::string_view data) override {
        if (data == "end") return {.end = reply_of(text_)};
        if (data == "ping") return {.is_keep_alive = true};
        if (data == "fail")
            return {.end = std::unexpected(
                        failure_at(kStreamStage, FailureKind::ContractError, 200, "refused"))};
        text_ += data;
        return {.text_delta = std::string(data)};
    }
    Outcome stop(const HttpResponse& head) override {
        return std::unexpected(unreadable(kStreamStage, head.status, "no end"));
    }

private:
    std::string text_;
};

using Replace = std::function<std::optional<EncodedRequest>(const Outcome&)>;

// The body of an answer is its text.
class PlainDecoder final : public Decoder {
public:
    PlainDecoder(std::unique_ptr<EventReader> events, Replace replace)
        : events_(std::move(events)), replace_(std::move(replace)) {}

    Outcome decode(const HttpResponse& response, base::Time now) override {
        if (is_success(response.status)) return reply_of(response.body);
        return std::unexpected(status_failure(response, FailureKind::ContractError, nullptr, now));
    }
    EventReader* events() override { return events_.get(); }
    std::optional<EncodedRequest> replacement(const Outcome& outcome) override {
        return replace_ ? replace_(outcome) : std::nullopt;
    }

private:
    std::unique_ptr<EventReader> events_;
    Replace replace_;
};

ServerReply streams(const std::vector<std::string>& events) {
    ServerReply reply{.headers = {{"Content-Type", "text/event-stream"}}};
    for (const auto& event : events) reply.body += "data: " + event + "\n\n";
    return reply;
}

class HttpTransportTest : public testing::Test {
protected:
    EncodedRequest encoded(Replace replace = {}) const {
        return {.url = server.base_url() + "/ask",
                .body = {{"question", true}},
                .decoder = std::make_unique<PlainDecoder>(
                    is_streaming ? std::make_unique<PlainEvents>() : nullptr, std::move(replace))};
    }
    std::unique_ptr<Provider> transport(Replace replace = {}) {
        struct PlainCodec final : Codec {
            explicit PlainCodec(std::function<EncodedRequest()> make) : make_(std::move(make)) {}
            std::expected<EncodedRequest, Failure> encode(const Request&) override {
                return make_();
            }
            std::function<EncodedRequest()> make_;
        };
        return std::make_unique<HttpTransport>(
            *http, clock,
            std::make_unique<PlainCodec>([this, replace] { return encoded(replace); }), options);
    }
    void run_until_done() {
        ASSERT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
        ASSERT_THAT(asked.outcomes, testing::SizeIs(1));
    }
    void expect_reply(const std::string& text) {
        run_until_done();
        ASSERT_TRUE(asked.outcomes[0].has_value()) << asked.outcomes[0].error().message;
        EXPECT_THAT(asked.outcomes[0]->blocks, ElementsAre(domain::Block{domain::TextBlock{text}}));
    }
    void expect_cancelled() {
        run_until_done();
        ASSERT_FALSE(asked.outcomes[0].has_value());
        EXPECT_EQ(asked.outcomes[0].error().kind, FailureKind::Cancelled);
    }

    FakeModelServer server;
    base::AsioLoop loop;
    base::SystemClock clock;
    std::optional<HttpClient> http{std::in_place, loop, HttpOptions{.proxy = ""}};
    conformance::Asked asked;
    HttpTransportOptions options{};
    bool is_streaming{false};
};

TEST_F(HttpTransportTest, AnExchangeNeedsNeitherItsTransportNorItsHandle) {
    server.always(test_support::with_body("hello"));
    asked.ask(*transport(), question());
    asked.exchange.reset();
    expect_reply("hello");
}

TEST_F(HttpTransportTest, AClientThatIsGoneCancelsTheExchange) {
    server.always(test_support::hangs());
    asked.ask(*transport(), question());
    ASSERT_TRUE(run_until(loop, [&] { return server.request_count() == 1; }));
    http.reset();
    expect_cancelled();
}

TEST_F(HttpTransportTest, AReplacementIsNotSentByAClientThatIsGone) {
    server.always(test_support::status_reply(404));
    asked.ask(*transport([this](const Outcome&) {
        http.reset();
        return std::optional(encoded());
    }),
              question());
    expect_cancelled();
    EXPECT_EQ(server.request_count(), 1U);
}

TEST_F(HttpTransportTest, AReplacedStreamAddsNothingToTheAnswer) {
    is_streaming = true;
    server.enqueue(streams({"fail", "late", "end"}));
    server.enqueue(streams({"one ", "two", "end"}));
    asked.ask(*transport([this](const Outcome& outcome) -> std::optional<EncodedRequest> {
        EXPECT_FALSE(outcome.has_value());
        return encoded();
    }),
              question());
    expect_reply("one two");
    EXPECT_EQ(asked.streamed, "one two");
}

// Comments and pings keep a connection open; they are no answer.
TEST_F(HttpTransportTest, AStreamOfCommentsAndPingsEndsByItself) {
    is_streaming = true;
    options.timeouts.idle = 200ms;
    ServerReply silent{.headers = {{"Content-Type", "text/event-stream"}}};
    for (int i = 0; i < 1000; ++i) silent.body += ": still here\n\ndata: ping\n\n";
    silent.drip_bytes = 26;
    silent.drip_pause = 20ms;
    server.always(silent);
    asked.ask(*transport(), question());
    run_until_done();
    ASSERT_FALSE(asked.outcomes[0].has_value());
    EXPECT_EQ(asked.outcomes[0].error().kind, FailureKind::Timeout);
    EXPECT_TRUE(asked.outcomes[0].error().diagnostics->reqwest->is_timeout);
    EXPECT_THAT(asked.outcomes[0].error().message, testing::HasSubstr("without an event"));
}

TEST_F(HttpTransportTest, AStreamThatSendsSomethingNowAndThenIsNotSilent) {
    is_streaming = true;
    options.timeouts.idle = 300ms;
    ServerReply slow = streams({"a", "b", "c", "d", "e", "f", "g", "h", "end"});
    slow.drip_bytes = streams({"a"}).body.size();
    slow.drip_pause = 100ms;
    server.always(slow);
    asked.ask(*transport(), question());
    expect_reply("abcdefgh");
}

TEST_F(HttpTransportTest, ACancelledExchangeIsNotReplaced) {
    is_streaming = true;
    ServerReply slow = streams({"one", "fail"});
    slow.drip_bytes = streams({"one"}).body.size();
    slow.drip_pause = 10s;
    server.always(slow);
    asked.ask(*transport([](const Outcome&) -> std::optional<EncodedRequest> {
        ADD_FAILURE() << "asked for a replacement";
        return std::nullopt;
    }),
              question());
    ASSERT_TRUE(run_until(loop, [&] { return asked.streamed == "one"; }));
    asked.cancel();
    expect_cancelled();
    EXPECT_EQ(asked.outcomes[0].error().diagnostics->model_ref, "test/model-1");
}

TEST_F(HttpTransportTest, ARequestThatCannotBeEncodedFailsFromTheLoop) {
    struct NoCodec final : Codec {
        std::expected<EncodedRequest, Failure> encode(const Request&) override {
            return std::unexpected(Failure{.kind = FailureKind::AuthError, .message = "no login"});
        }
    };
    HttpTransport provider(*http, clock, std::make_unique<NoCodec>());
    asked.ask(provider, question());
    run_until_done();
    EXPECT_EQ(asked.outcomes[0].error(),
              (Failure{.kind = FailureKind::AuthError, .message = "no login"}));
    asked.outcomes.clear();
    asked.ask(provider, question());
    asked.cancel();
    expect_cancelled();
    EXPECT_EQ(server.request_count(), 0U);
}

}  // namespace
}  // namespace provider
