// Clients that break rules, by mistake or on purpose.
#include <thread>

#include <sys/socket.h>

#include <gmock/gmock.h>

#include "tests/http/fixture.h"
#include "tests/support/eventually.h"

namespace test_http {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class Hostile : public ServerTest {
protected:
    // Still available to all others, and nothing of the attack was executed.
    void expect_unharmed() {
        EXPECT_EQ(tcp().ask(get("/healthz")).status, 200);
        EXPECT_THAT(service_.calls(), IsEmpty());
    }
    std::string prompt(std::string_view headers, std::string_view body) {
        return fmt::format(
            "POST /control/agents/main/prompt HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/json\r\n{}\r\n{}",
            headers, body);
    }
};

TEST_F(Hostile, RequestsThatTwoReadersCouldCutDifferentlyAreRefused) {
    start();
    const std::string chunked = "11\r\n{\"text\":\"hello\"}\r\n0\r\n\r\n";
    for (const auto* headers :
         {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
          "Content-Length: 5\r\nContent-Length: 6\r\n",
          "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: +5\r\n",
          "Content-Length: 0x5\r\n", "Content-Length: -1\r\n",
          "Content-Length: 99999999999999999999999\r\n", "Transfer-Encoding: xchunked\r\n",
          "Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding: gzip\r\n",
          "Transfer-Encoding : chunked\r\n", "Host: other\r\n"}) {
        auto client = tcp();
        const auto answer = client.ask(prompt(headers, chunked));
        EXPECT_GE(answer.status, 400) << headers;
        EXPECT_LT(answer.status, 600) << headers;
        EXPECT_THAT(answer.headers, Contains(Pair("connection", "close"))) << headers;
        EXPECT_TRUE(client.is_closed()) << headers;
    }
    expect_unharmed();
}

TEST_F(Hostile, BytesThatAreNoHttpAreRefused) {
    start();
    for (const auto* bytes :
         {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "hello\r\n\r\n", "GET\r\n\r\n",
          "GET / HTTP/9.9\r\n\r\n", "GET /\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: local\x01host\r\n\r\n",
          "GET http://localhost/status HTTP/1.1\r\nHost: localhost\r\n\r\n"}) {
        auto client = tcp();
        client.send(bytes);
        client.finish_sending();
        const auto answer = client.receive();
        EXPECT_GE(answer.status, 400) << bytes;
        EXPECT_EQ(answer.json().at("ok"), false);
    }
    expect_unharmed();
}

TEST_F(Hostile, HeadersAreBoundedInSizeAndNumber) {
    start();
    auto big = tcp();
    const auto large = big.ask(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(64 * 1024, 'x') + "\r\n\r\n");
    EXPECT_EQ(large.status, 431);
    EXPECT_EQ(large.json().at("code"), "headers_too_large");
    std::string many = "GET / HTTP/1.1\r\nHost: localhost\r\n";
    for (int i = 0; i < 200; ++i) many += fmt::format("X-{}: y\r\n", i);
    EXPECT_EQ(tcp().ask(many + "\r\n").status, 431);
    EXPECT_EQ(tcp().ask(get("/" + std::string(60 * 1024, 'a'))).status, 431);
    expect_unharmed();
}

TEST_F(Hostile, BodiesAreBounded) {
    start();
    const std::size_t two_megabytes = 2 * 1024 * 1024;
    // Announced: refused before it is sent.
    EXPECT_EQ(
        tcp().ask(prompt(fmt::format("Content-Length: {}\r\n", two_megabytes + 1), "")).status,
        413);
    EXPECT_EQ(tcp()
                  .ask("POST /callbacks/wake/cb_right HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 262145\r\n\r\n")
                  .status,
              413);
    // Not announced: refused as soon as it is too much.
    auto client = tcp();
    client.send(
        "POST /callbacks/wake/cb_right HTTP/1.1\r\nHost: localhost\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
    for (int i = 0; i < 5; ++i) client.send(chunk);
    EXPECT_EQ(client.receive().status, 413);
    EXPECT_FALSE(service_.last_callback());
    // Just within bounds is fine.
    auto largest = tcp();
    const std::string text(two_megabytes - 11, 'x');
    EXPECT_EQ(
        largest.ask(post("/control/agents/main/prompt", R"({"text":")" + text + R"("})")).status,
        200);
}

TEST_F(Hostile, ASlowHeadIsCutOff) {
    start({.limits = {.header = std::chrono::milliseconds(50)}});
    auto slow = tcp();
    slow.send("GET / HTTP/1.1\r\nHost: loc");
    EXPECT_TRUE(slow.is_closed());
    // One byte after the other does not help: the head as a whole has its time.
    auto dripping = tcp();
    const std::string head = get("/agents/main/status");
    std::size_t sent = 0;
    while (sent < 10'000 && dripping.send(sent < 20 ? head.substr(sent, 1) : "x")) ++sent;
    expect_unharmed();
}

TEST_F(Hostile, ASlowBodyIsCutOff) {
    start({.limits = {.body = std::chrono::milliseconds(50)}});
    auto slow = tcp();
    slow.send(prompt("Content-Length: 20\r\n", "{\"text\""));
    EXPECT_TRUE(slow.is_closed());
    expect_unharmed();
}

TEST_F(Hostile, AnIdleConnectionIsClosed) {
    start({.limits = {.idle = std::chrono::milliseconds(50)}});
    auto idle = tcp();
    EXPECT_EQ(idle.ask(get("/healthz")).status, 200);
    EXPECT_TRUE(idle.is_closed());
}

TEST_F(Hostile, ATruncatedBodyIsNoRequest) {
    start();
    auto cut = tcp();
    cut.send(prompt("Transfer-Encoding: chunked\r\n", "11\r\n{\"text\":\"he"));
    cut.finish_sending();
    EXPECT_TRUE(cut.is_closed());
    auto broken = tcp();
    EXPECT_EQ(broken.ask(prompt("Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n")).status, 400);
    expect_unharmed();
}

TEST_F(Hostile, AHalfClosedClientGetsItsAnswer) {
    start();
    auto client = tcp();
    client.send(get("/healthz"));
    client.finish_sending();
    EXPECT_EQ(client.receive().status, 200);
    EXPECT_TRUE(client.is_closed());
}

TEST_F(Hostile, PipelinedRequestsAreAnsweredInOrder) {
    start();
    auto client = tcp();
    std::string all;
    for (int i = 0; i < 50; ++i)
        all += post("/control/agents/main/prompt", fmt::format(R"({{"text":"{}"}})", i));
    all += get("/nowhere") + get("/status");
    client.send(all);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(client.receive().json().at("message_id"), "message-1");
    EXPECT_EQ(client.receive().status, 404);
    EXPECT_EQ(client.receive().status, 200);
    const auto calls = service_.calls();
    ASSERT_EQ(calls.size(), 50U);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(calls[i], fmt::format("prompt main {}", i));
}

TEST_F(Hostile, ExpectContinueIsMetAndOtherExpectationsAreNot) {
    start();
    auto client = tcp();
    client.send(prompt("Content-Length: 12\r\nExpect: 100-continue\r\n", ""));
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(R"({"text":"x"})");
    EXPECT_EQ(client.receive().status, 200);
    EXPECT_EQ(tcp().ask(prompt("Content-Length: 12\r\nExpect: miracles\r\n", "")).status, 417);
}

TEST_F(Hostile, OldClientsGetAnAnswerAndAClose) {
    start();
    auto client = tcp();
    EXPECT_EQ(client.ask("GET /healthz HTTP/1.0\r\n\r\n").status, 200);
    EXPECT_TRUE(client.is_closed());
}

TEST_F(Hostile, ConnectionsAreBoundedAndLeaveRoomForTheSocketOfTheOperator) {
    start({.limits = {.connections = 8}});
    std::vector<Client> open;
    for (int i = 0; i < 6; ++i) {
        open.push_back(tcp());
        EXPECT_EQ(open.back().ask(get("/healthz")).status, 200);
    }
    auto refused = tcp();
    const auto answer = refused.receive();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.headers.at("retry-after"), "1");
    EXPECT_EQ(answer.json().at("code"), "overloaded");
    EXPECT_TRUE(refused.is_closed());
    {
        auto first = local(), second = local();
        EXPECT_EQ(first.ask(get("/healthz")).status, 200);
        EXPECT_EQ(second.ask(get("/healthz")).status, 200);
        EXPECT_EQ(local().receive().status, 503);
    }
    // One that leaves makes room for another.
    open.pop_back();
    EXPECT_TRUE(test_support::eventually([&] { return tcp().ask(get("/healthz")).status == 200; }));
}

TEST_F(Hostile, ConnectionsOfOnePeerAreBoundedAndTheSocketIsNot) {
    start({.limits = {.connections_per_peer = 2}});
    auto first = tcp(), second = tcp();
    EXPECT_EQ(first.ask(get("/healthz")).status, 200);
    EXPECT_EQ(second.ask(get("/healthz")).status, 200);
    EXPECT_EQ(tcp().receive().status, 503);
    std::vector<Client> sockets;
    for (int i = 0; i < 4; ++i) {
        sockets.push_back(local());
        EXPECT_EQ(sockets.back().ask(get("/healthz")).status, 200);
    }
}

TEST_F(Hostile, RequestsOfOneConnectionAreBounded) {
    start({.limits = {.requests_per_connection = 3}});
    auto client = tcp();
    for (int i = 0; i < 2; ++i)
        EXPECT_FALSE(client.ask(get("/healthz")).headers.contains("connection"));
    EXPECT_EQ(client.ask(get("/healthz")).headers.at("connection"), "close");
    EXPECT_TRUE(client.is_closed());
}

TEST_F(Hostile, CallsThatNoThreadCouldTakeAreRefusedAtOnce) {
    start({.limits = {.calls_waiting = 2, .call_threads = 1}});
    service_.hold();
    std::vector<Client> waiting;
    waiting.push_back(tcp());
    waiting.back().send(get("/status"));
    ASSERT_TRUE(service_.wait_for_held(1));
    for (int i = 0; i < 2; ++i) {
        waiting.push_back(tcp());
        waiting.back().send(get("/status"));
    }
    // Once the two are in the queue, the next is turned away.
    Received refused;
    std::vector<Client> more;
    ASSERT_TRUE(test_support::eventually([&] {
        more.push_back(tcp());
        more.back().send(get("/nowhere"));
        EXPECT_EQ(more.back().receive().status, 404);  // Needs no thread.
        auto probe = tcp();
        probe.send(get("/status"));
        refused = probe.receive();
        return refused.status == 503;
    }));
    EXPECT_EQ(refused.headers.at("retry-after"), "1");
    EXPECT_EQ(refused.json().at("code"), "overloaded");
    service_.release();
    for (auto& client : waiting) EXPECT_EQ(client.receive().status, 200);
}

TEST_F(Hostile, DrainingFinishesWhatHasArrived) {
    start();
    auto idle = tcp();
    EXPECT_EQ(idle.ask(get("/healthz")).status, 200);
    service_.hold();
    auto busy = tcp();
    busy.send(get("/status"));
    ASSERT_TRUE(service_.wait_for_held(1));
    std::jthread drain([&] { server_->drain(std::chrono::seconds(20)); });
    EXPECT_TRUE(idle.is_closed());
    service_.release();
    const auto answer = busy.receive();
    EXPECT_EQ(answer.status, 200);
    drain.join();
    EXPECT_FALSE(std::filesystem::exists(socket_path()));
}

TEST_F(Hostile, ClientsThatVanishLeaveNothingBehind) {
    start();
    for (int i = 0; i < 50; ++i) {
        auto client = tcp();
        client.send(i % 2 == 0 ? get("/status") : get("/agents/main/events/stream"));
        // Gone without reading.
    }
    std::string metrics;
    ASSERT_TRUE(test_support::eventually([&] {
        metrics = local().ask(get("/metrics")).body;
        return metrics.contains("holon_http_connections_open 1\n");
    })) << metrics;
    EXPECT_THAT(metrics, HasSubstr("holon_http_streams_open 0\n"));
}

}  // namespace
}  // namespace test_http
