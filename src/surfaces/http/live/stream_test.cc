// Events as they happen, to one reader and to many.
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>

#include <gmock/gmock.h>

#include "tests/http/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/skip.h"

namespace test_http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Reads server-sent events off a chunked response.
class Reader {
public:
    Reader(Client client, const std::string& path, const std::string& last_event_id = {})
        : client_(std::move(client)) {
        client_.send(last_event_id.empty()
                         ? get(path)
                         : request("GET", path, {{"Last-Event-ID", last_event_id}}));
        head_ = client_.read_until("\r\n\r\n");
    }

    const std::string& head() const { return head_; }

    // The text of the next frame, of a comment, or "" at the end of the stream.
    std::string next() {
        std::size_t end = text_.find("\n\n");
        while (end == std::string::npos) {
            const auto size = client_.read_until("\r\n");
            const auto bytes = size.empty() ? 0 : std::stoul(size, nullptr, 16);
            if (bytes == 0) return "";
            std::string chunk;
            while (chunk.size() < bytes + 2) {
                const auto more = client_.read_until("\n");
                if (more.empty()) return "";
                chunk += more;
            }
            text_ += chunk.substr(0, bytes);
            end = text_.find("\n\n");
        }
        const std::string frame = text_.substr(0, end);
        text_.erase(0, end + 2);
        return frame;
    }

    // Of the next event, whatever heartbeats come before it; -1 at the end of the stream.
    std::int64_t next_seq() {
        std::string frame = next();
        while (frame.starts_with(": heartbeat")) frame = next();
        return frame.starts_with("id: ") ? std::stoll(frame.substr(4)) : -1;
    }

private:
    Client client_;
    std::string head_;
    std::string text_;
};

class Stream : public ServerTest {
protected:
    static constexpr auto kPath = "/agents/main/events/stream";
};

TEST_F(Stream, SendsTheFramesOfTheReference) {
    start();
    Reader reader(tcp(), kPath);
    EXPECT_THAT(reader.head(), HasSubstr("200 OK"));
    EXPECT_THAT(reader.head(), HasSubstr("Content-Type: text/event-stream"));
    EXPECT_THAT(reader.head(), HasSubstr("Cache-Control: no-cache"));
    service_.add_events("main", 1);
    const auto frame = reader.next();
    EXPECT_THAT(frame, testing::StartsWith("id: 1\nevent: message_admitted\ndata: {"));
    const auto data = base::parse_json(frame.substr(frame.find("data: ") + 6));
    ASSERT_TRUE(data);
    EXPECT_EQ(data->at("event_seq"), 1);
    EXPECT_EQ(data->at("agent_id"), "main");
    EXPECT_EQ(data->at("type"), "message_admitted");
    EXPECT_EQ(data->at("projection").at("name"), "operator");
    EXPECT_EQ(data->at("payload").at("number"), 1);
}

TEST_F(Stream, WithoutACursorStartsAtTheTail) {
    start();
    service_.add_events("main", 5);
    Reader reader(tcp(), kPath);
    service_.add_events("main", 1);
    EXPECT_EQ(reader.next_seq(), 6);
}

TEST_F(Stream, ReplaysFromAnyPointThatIsKeptAndFollows) {
    start();
    service_.add_events("main", 3000);  // More than a ring holds.
    Reader reader(tcp(), std::string(kPath) + "?after_seq=7");
    for (std::int64_t seq = 8; seq <= 3000; ++seq) ASSERT_EQ(reader.next_seq(), seq);
    service_.add_events("main", 2);
    EXPECT_EQ(reader.next_seq(), 3001);
    EXPECT_EQ(reader.next_seq(), 3002);
}

TEST_F(Stream, FromZeroMeansFromTheOldestThatIsKept) {
    start();
    service_.add_events("main", 20);
    service_.forget_events("main", 10);
    Reader reader(tcp(), std::string(kPath) + "?after_seq=0");
    EXPECT_EQ(reader.next_seq(), 11);
}

// contract: EVENT-19
TEST_F(Stream, ContinuesWhereAReaderStoppedOnAnyConnection) {
    start();
    service_.add_events("main", 10);
    {
        Reader first(tcp(), std::string(kPath) + "?after_seq=0");
        EXPECT_EQ(first.next_seq(), 1);
        EXPECT_EQ(first.next_seq(), 2);
    }
    // The header of a reconnecting browser wins over the cursor in its URL.
    Reader second(tcp(), std::string(kPath) + "?after_seq=0", "2");
    EXPECT_EQ(second.next_seq(), 3);
}

TEST_F(Stream, RefusesCursorsItCannotContinueFrom) {
    start();
    service_.add_events("main", 20);
    service_.forget_events("main", 10);
    for (const auto* cursor : {"5", "21"}) {
        const auto answer = tcp().ask(get(fmt::format("{}?after_seq={}", kPath, cursor)));
        EXPECT_EQ(answer.status, 404) << cursor;
        EXPECT_EQ(answer.json().at("code"), "cursor_not_found");
        EXPECT_EQ(answer.json().at("after_seq"), std::stoi(cursor));
        EXPECT_EQ(answer.json().at("oldest_seq"), 11);
        EXPECT_EQ(answer.json().at("event_seq"), 20);
    }
    EXPECT_EQ(tcp().ask(get(std::string(kPath) + "?after_seq=x")).status, 400);
    EXPECT_EQ(tcp().ask(get(std::string(kPath) + "?order=asc")).status, 400);
    EXPECT_EQ(tcp().ask(request("GET", kPath, {{"Last-Event-ID", "x"}})).status, 400);
    EXPECT_EQ(tcp().ask(get("/agents/nobody/events/stream")).status, 404);
}

TEST_F(Stream, BeatsWhileNothingHappens) {
    start({.limits = {.heartbeat = std::chrono::milliseconds(20)}});
    Reader reader(local(), kPath);
    EXPECT_EQ(reader.next(), ": heartbeat");
    EXPECT_EQ(reader.next(), ": heartbeat");
}

TEST_F(Stream, EndsWithACommentWhenTheServerDrains) {
    start();
    Reader reader(tcp(), kPath);
    server_->drain(std::chrono::seconds(10));
    EXPECT_EQ(reader.next(), ": the server is going away");
    EXPECT_EQ(reader.next(), "");
}

TEST_F(Stream, AgentsAreCountedApart) {
    start();
    Reader main(tcp(), kPath);
    Reader other(tcp(), "/agents/other/events/stream");
    service_.add_events("main", 2);
    service_.add_events("other", 1);
    EXPECT_EQ(other.next_seq(), 1);
    EXPECT_EQ(main.next_seq(), 1);
    EXPECT_EQ(main.next_seq(), 2);
}

TEST_F(Stream, GivesManyReadersEveryEventInOrderAndReadsEachOnce) {
    start({.limits = {.write = std::chrono::minutes(10)}});  // Readers are read one by one here.
    constexpr int kReaders = 30;
    constexpr int kEvents = 1000;
    std::vector<Reader> readers;
    for (int i = 0; i < kReaders; ++i) readers.emplace_back(i % 2 == 0 ? tcp() : local(), kPath);
    std::jthread writer([&] {
        for (int i = 0; i < kEvents; ++i) service_.add_events("main", 1);
    });
    for (auto& reader : readers)
        for (std::int64_t seq = 1; seq <= kEvents; ++seq) ASSERT_EQ(reader.next_seq(), seq);
    // Not once for each reader, which would be 30 times as often; readers that fell
    // behind the ring read pages of their own.
    EXPECT_LT(service_.page_reads(), static_cast<std::size_t>(kEvents) * 3);
}

TEST_F(Stream, DropsOnlyAReaderThatDoesNotRead) {
    // Long enough for a reader that reads, on a machine that has much else to do.
    start({.limits = {.write = std::chrono::seconds(3)}});
    auto stuck = tcp();
    const int small = 4096;
    ::setsockopt(stuck.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    stuck.send(get(kPath));
    EXPECT_THAT(stuck.read_until("\r\n\r\n"), HasSubstr("200 OK"));
    Reader good(tcp(), kPath);
    constexpr int kEvents = 400;
    std::jthread writer([&] {
        for (int i = 0; i < kEvents; ++i) service_.add_events("main", 1, 50'000);
    });
    for (std::int64_t seq = 1; seq <= kEvents; ++seq) ASSERT_EQ(good.next_seq(), seq);
    // The stuck one is cut off; how far it got is its own affair.
    std::string metrics;
    ASSERT_TRUE(test_support::eventually([&] {
        metrics = tcp().ask(get("/metrics")).body;
        return metrics.contains("holon_http_streams_dropped_total 1") &&
               metrics.contains("holon_http_streams_open 1\n");
    })) << metrics;
}

TEST_F(Stream, AThousandIdleReadersAreServed) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < 2200) HOLON_SKIP("too few descriptors are allowed here");
    start();
    std::vector<Reader> readers;
    for (int i = 0; i < 1000; ++i) readers.emplace_back(tcp(), kPath);
    EXPECT_THAT(tcp().ask(get("/metrics")).body, HasSubstr("holon_http_streams_open 1000\n"));
    EXPECT_EQ(service_.watchers(), 1U);
    service_.add_events("main", 1);
    for (auto& reader : readers) ASSERT_EQ(reader.next_seq(), 1);
    EXPECT_EQ(service_.page_reads(), 1U);
}

TEST_F(Stream, SendsDeltasWithoutAnIdToThoseWhoAskForThem) {
    start();
    Reader plain(tcp(), kPath);
    Reader live(tcp(), std::string(kPath) + "?deltas=true");
    ASSERT_TRUE(test_support::eventually([&] { return service_.delta_watchers() == 1; }));
    service_.add_delta("main", "Hel");
    EXPECT_EQ(live.next(), "event: delta\ndata: {\"kind\":\"text\",\"text\":\"Hel\"}");
    service_.add_events("main", 1);
    EXPECT_EQ(live.next_seq(), 1);
    service_.add_delta("main", "lo");
    EXPECT_EQ(live.next(), "event: delta\ndata: {\"kind\":\"text\",\"text\":\"lo\"}");
    service_.add_events("main", 1);
    EXPECT_EQ(live.next_seq(), 2);
    // The other one has the same events, and nothing else.
    EXPECT_EQ(plain.next_seq(), 1);
    EXPECT_EQ(plain.next_seq(), 2);
    EXPECT_EQ(tcp().ask(get(std::string(kPath) + "?deltas=maybe")).status, 400);
}

TEST_F(Stream, ASlowReaderLosesDeltasAndNoEvent) {
    start({.limits = {.write = std::chrono::minutes(10)}});
    auto client = tcp();
    const int small = 4096;
    ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    Reader slow(std::move(client), std::string(kPath) + "?deltas=true");
    Reader fast(tcp(), kPath);
    ASSERT_TRUE(test_support::eventually([&] { return service_.delta_watchers() == 1; }));
    constexpr int kRounds = 200;
    const std::string piece(20'000, 'x');
    for (int i = 0; i < kRounds; ++i) {
        for (int k = 0; k < 5; ++k) service_.add_delta("main", piece);
        service_.add_events("main", 1);
    }
    // Everything has been handed out by now, whether or not the slow one has read it.
    for (std::int64_t seq = 1; seq <= kRounds; ++seq) ASSERT_EQ(fast.next_seq(), seq);
    std::int64_t deltas = 0;
    for (std::int64_t seq = 1; seq <= kRounds;) {
        const std::string frame = slow.next();
        ASSERT_NE(frame, "");
        if (frame.starts_with("event: delta")) ++deltas;
        if (!frame.starts_with("id: ")) continue;
        ASSERT_EQ(std::stoll(frame.substr(4)), seq);
        ++seq;
    }
    EXPECT_LT(deltas, 5 * kRounds);
}

TEST_F(Stream, ForgetsAnAgentWithoutFollowers) {
    start();
    {
        Reader reader(tcp(), kPath);
        service_.add_events("main", 1);
        EXPECT_EQ(reader.next_seq(), 1);
        EXPECT_EQ(service_.watchers(), 1U);
    }
    EXPECT_TRUE(test_support::eventually([&] { return service_.watchers() == 0; }));
}

}  // namespace
}  // namespace test_http
