#include "provider/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"

namespace provider {
namespace {

using test_support::FakeModelServer;
using test_support::run_until;
using test_support::ServerReply;
using testing::HasSubstr;
using testing::SizeIs;

class HttpClientTest : public testing::Test {
protected:
    HttpRequest request(std::string path = "/v1/chat/completions") {
        return {.url = server.base_url() + path,
                .headers = {{"Content-Type", "application/json"}},
                .body = "{}"};
    }
    std::shared_ptr<Exchange> start(HttpRequest request, ChunkHandler on_chunk = {}) {
        outcome.reset();
        return client.send(std::move(request), std::move(on_chunk), [this](HttpOutcome got) {
            EXPECT_FALSE(outcome.has_value()) << "done twice";
            outcome = std::move(got);
        });
    }
    HttpOutcome send(HttpRequest request, ChunkHandler on_chunk = {}) {
        start(std::move(request), std::move(on_chunk));
        EXPECT_FALSE(outcome.has_value()) << "done inside send()";
        EXPECT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
        return outcome.value();
    }

    FakeModelServer server;
    base::AsioLoop loop;
    HttpClient client{loop, {.proxy = ""}};
    std::optional<HttpOutcome> outcome;
};

TEST_F(HttpClientTest, SendsTheRequestAndReturnsTheResponse) {
    ServerReply reply = test_support::with_body("hello");
    reply.headers.emplace_back("X-Request-Id", " r1 ");
    server.enqueue(reply);
    HttpRequest asked = request("/v1/x");
    asked.body = std::string(300'000, 'b');
    const HttpOutcome got = send(asked);
    ASSERT_TRUE(got.has_value()) << got.error().message;
    EXPECT_EQ(got->status, 200);
    EXPECT_EQ(got->body, "hello");
    ASSERT_NE(find_header(got->headers, "x-request-ID"), nullptr);
    EXPECT_EQ(*find_header(got->headers, "x-request-ID"), "r1");

    const auto requests = server.requests();
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].method, "POST");
    EXPECT_EQ(requests[0].path, "/v1/x");
    EXPECT_EQ(requests[0].body, asked.body);
    EXPECT_EQ(requests[0].headers.at("content-type"), "application/json");
    EXPECT_EQ(requests[0].headers.at("accept-encoding"), "gzip");
    EXPECT_FALSE(requests[0].headers.contains("user-agent"));
    EXPECT_FALSE(requests[0].headers.contains("expect"));
}

TEST_F(HttpClientTest, KeepsTheConnectionForTheNextRequest) {
    server.always(test_support::with_body("ok"));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(request()).has_value());
    for (const auto& recorded : server.requests()) EXPECT_EQ(recorded.connection, 1);
}

TEST_F(HttpClientTest, AKeptConnectionThatDiedIsReplaced) {
    server.enqueue(test_support::with_body("first"));
    server.enqueue(test_support::resets());
    server.enqueue(test_support::with_body("second"));
    ASSERT_TRUE(send(request()).has_value());
    const HttpOutcome got = send(request());
    ASSERT_TRUE(got.has_value()) << got.error().message;
    EXPECT_EQ(got->body, "second");
}

TEST_F(HttpClientTest, EveryStatusIsAResponseAndRedirectsAreNotFollowed) {
    for (const int status : {301, 307, 404, 500}) {
        ServerReply reply = test_support::status_reply(status, "text");
        reply.headers.emplace_back("Location", server.base_url() + "/elsewhere");
        server.enqueue(reply);
        const HttpOutcome got = send(request());
        ASSERT_TRUE(got.has_value()) << got.error().message;
        EXPECT_EQ(got->status, status);
        EXPECT_EQ(got->body, "text");
    }
    EXPECT_EQ(server.request_count(), 4U);
}

TEST_F(HttpClientTest, ChunksArriveBeforeDoneAndOnlyForSuccess) {
    ServerReply drip = test_support::with_body("one two three");
    drip.drip_bytes = 4;
    drip.drip_pause = 2ms;
    server.enqueue(drip);
    server.enqueue(test_support::status_reply(500, "broken"));
    std::string streamed;
    const auto keep = [&](std::string_view chunk) {
        EXPECT_FALSE(outcome.has_value());
        streamed += chunk;
    };
    const HttpOutcome good = send(request(), keep);
    ASSERT_TRUE(good.has_value()) << good.error().message;
    EXPECT_EQ(streamed, "one two three");
    EXPECT_EQ(good->body, "");
    const HttpOutcome bad = send(request(), keep);
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(bad->body, "broken");
    EXPECT_EQ(streamed, "one two three");
}

TEST_F(HttpClientTest, CancelClosesTheConnection) {
    server.always(test_support::hangs());
    const auto exchange = start(request());
    ASSERT_TRUE(run_until(loop, [&] { return server.request_count() == 1; }));
    exchange->cancel();
    ASSERT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
    EXPECT_EQ(outcome->error().kind, FailureKind::Cancelled);
    EXPECT_TRUE(run_until(loop, [&] { return server.disconnect_count() == 1; }));
}

TEST_F(HttpClientTest, CancelFromAChunkGivesCancelled) {
    ServerReply drip = test_support::with_body("one two three");
    drip.drip_bytes = 4;
    drip.drip_pause = 2ms;
    server.enqueue(drip);
    std::shared_ptr<Exchange> exchange;
    int chunks = 0;
    exchange = start(request(), [&](std::string_view) {
        ++chunks;
        exchange->cancel();
    });
    ASSERT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
    EXPECT_EQ(outcome->error().kind, FailureKind::Cancelled);
    EXPECT_EQ(chunks, 1);
}

TEST_F(HttpClientTest, TheClientMayGoWhileRequestsAreOnTheirWay) {
    server.always(test_support::hangs());
    std::vector<HttpOutcome> outcomes;
    {
        HttpClient short_lived(loop, {.proxy = ""});
        for (int i = 0; i < 3; ++i)
            short_lived.send(request(), {},
                             [&](HttpOutcome got) { outcomes.push_back(std::move(got)); });
        ASSERT_TRUE(run_until(loop, [&] { return server.request_count() == 3; }));
    }
    ASSERT_TRUE(run_until(loop, [&] { return outcomes.size() == 3; }));
    for (const auto& got : outcomes) EXPECT_EQ(got.error().kind, FailureKind::Cancelled);
    EXPECT_TRUE(run_until(loop, [&] { return server.disconnect_count() == 3; }));
}

// gzip of {"ok":true}, and of 5,000 times the letter a.
constexpr std::string_view kSmallGzip{
    "\037\213\010\000\000\000\000\000\002\377\253\126\312\317\126\262\052\051"
    "\052\115\255\005\000\220\137\324\247\013\000\000\000",
    31};
constexpr std::string_view kBombGzip{
    "\037\213\010\000\000\000\000\000\002\377\355\301\061\001\000\000\000\302"
    "\240\254\353\137\302\024\176\100\001\000\000\000\000\157\003\166\131\364"
    "\114\210\023\000\000",
    41};

TEST_F(HttpClientTest, DecompressesAndBoundsWhatComesOut) {
    ServerReply small = test_support::with_body(std::string(kSmallGzip));
    small.headers.emplace_back("Content-Encoding", "gzip");
    ServerReply bomb = small;
    bomb.body = kBombGzip;
    ServerReply broken = small;
    broken.body = "not gzip";
    server.enqueue(small);
    server.enqueue(bomb);
    server.enqueue(broken);
    HttpRequest asked = request();
    asked.body_bytes_max = 2000;
    const HttpOutcome good = send(asked);
    ASSERT_TRUE(good.has_value()) << good.error().message;
    EXPECT_EQ(good->body, R"({"ok":true})");
    const HttpOutcome large = send(asked);
    ASSERT_FALSE(large.has_value());
    EXPECT_THAT(large.error().message, HasSubstr("the response body exceeds 2000 bytes"));
    const HttpOutcome bad = send(asked);
    ASSERT_FALSE(bad.has_value());
    EXPECT_EQ(bad.error().kind, FailureKind::InvalidResponse);
    EXPECT_TRUE(bad.error().diagnostics->reqwest->is_decode);
}

struct Row {
    std::string_view name;
    ServerReply reply;
    HttpTimeouts timeouts{};
    Failure failure{};  // The message is compared as a part, the source chain not at all.
};

TEST_F(HttpClientTest, FailuresSayWhatAndWhere) {
    ServerReply truncated = test_support::says("cut");
    truncated.truncate_after = 10;
    ServerReply slow = test_support::says("drip");
    slow.drip_bytes = 10;
    slow.drip_pause = 10s;
    ServerReply steady = slow;
    steady.drip_bytes = 1;
    steady.drip_pause = 100ms;
    ServerReply long_header = test_support::says("x");
    long_header.headers.emplace_back("X-Long", std::string(5000, 'x'));
    const ServerReply hang = test_support::hangs();

    const auto failed = [&](FailureKind kind, std::string_view text, domain::TransportFlags flags,
                            std::optional<std::int64_t> status) {
        flags.status = status;
        return Failure{.kind = kind,
                       .message = std::string(text),
                       .status = status,
                       .diagnostics = domain::TransportDiagnostics{
                           .stage = status ? "response_body" : "request_send",
                           .url = server.base_url() + "/v1",
                           .status = status,
                           .reqwest = flags}};
    };
    const std::vector<Row> rows{
        {"reset",
         test_support::resets(),
         {},
         failed(FailureKind::Connection, "closed before the answer", {.is_request = true}, {})},
        {"truncated",
         truncated,
         {},
         failed(FailureKind::Connection, "closed within the answer", {.is_body = true}, 200)},
        {"no headers in time",
         hang,
         {.first_byte = 50ms},
         failed(FailureKind::Timeout, "no response headers within 50 ms",
                {.is_timeout = true, .is_request = true}, {})},
        {"no complete response in time",
         steady,
         {.total = 3s},
         failed(FailureKind::Timeout, "no complete response within 3000 ms",
                {.is_timeout = true, .is_body = true}, 200)},
        {"idle",
         slow,
         {.idle = 50ms},
         failed(FailureKind::Timeout, "no data within 50 ms", {.is_timeout = true, .is_body = true},
                200)},
        {"body too large",
         test_support::oversized(3000),
         {},
         failed(FailureKind::InvalidResponse, "the response body exceeds 2000 bytes",
                {.is_body = true}, 200)},
        {"header too large",
         long_header,
         {},
         failed(FailureKind::InvalidResponse, "the response header exceeds 4000 bytes",
                {.is_body = true}, {})},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        server.enqueue(row.reply);
        HttpRequest asked = request("/v1?token=hunter2#part");
        asked.timeouts = row.timeouts;
        asked.body_bytes_max = 2000;
        asked.header_bytes_max = 4000;
        const HttpOutcome got = send(asked);
        ASSERT_FALSE(got.has_value());
        Failure failure = got.error();
        EXPECT_THAT(failure.message, HasSubstr(row.failure.message));
        EXPECT_THAT(failure.message, HasSubstr("POST " + server.base_url() + "/v1: "));
        failure.message = row.failure.message;
        failure.diagnostics->source_chain.reset();
        EXPECT_EQ(failure, row.failure);
    }
}

TEST_F(HttpClientTest, AClosedPortIsAConnectFailure) {
    std::string url;
    {
        const FakeModelServer gone;
        url = gone.base_url() + "/v1";
    }
    const HttpOutcome got = send({.url = url});
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().kind, FailureKind::Connection);
    EXPECT_EQ(got.error().diagnostics->reqwest,
              (domain::TransportFlags{.is_connect = true, .is_request = true}));
    EXPECT_THAT(*got.error().diagnostics->source_chain, SizeIs(testing::Ge(1U)));
}

TEST_F(HttpClientTest, WhatCannotBeSentFailsWithoutSayingASecret) {
    HttpRequest split = request();
    split.headers.push_back({"Authorization", "Bearer sk-secret\r\nX-Evil: 1"});
    const HttpOutcome header = send(split);
    ASSERT_FALSE(header.has_value());
    EXPECT_EQ(header.error(), (Failure{.kind = FailureKind::ContractError,
                                       .message = "the header 'Authorization' holds a control "
                                                  "character"}));
    for (const std::string url : {"", "ftp://127.0.0.1/", "file:///etc/passwd", "http://:x/"}) {
        const HttpOutcome got = send({.url = url});
        ASSERT_FALSE(got.has_value()) << url;
        EXPECT_EQ(got.error().kind, FailureKind::ContractError) << url << got.error().message;
    }
    EXPECT_EQ(server.request_count(), 0U);
}

TEST(PublicUrl, HidesWhatMayBeSecret) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {"https://host/v1", "https://host/v1"},
        {"https://user:pass@host:8443/v1?key=1#x", "https://host:8443/v1"},
        {"https://a@b@host", "https://host"},
        {"https://host?key=@1", "https://host"},
        {"https://host/p@th", "https://host/p@th"},
        {"user@host/x", "host/x"},
        {"", ""}};
    for (const auto& [url, shown] : rows) EXPECT_EQ(public_url(url), shown);
}

}  // namespace
}  // namespace provider
