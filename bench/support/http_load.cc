#include "bench/support/http_load.h"

#include <array>
#include <charconv>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/result.h"
#include "bench/support/figures.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kEventsAtOnce = 256;

struct Connection {
    base::Fd fd;
    std::string got;
    Clock::time_point sent{};
};

void watch(const base::Fd& epoll, int fd, std::size_t number) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
    CHECK(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0, "a socket can be watched");
}

// The size of the response at the start of `text`, or 0 while it is not whole.
std::size_t response_size(std::string_view text) {
    const auto head = text.find("\r\n\r\n");
    if (head == std::string_view::npos) return 0;
    constexpr std::string_view kName = "Content-Length: ";
    const auto length = text.find(kName);
    if (length == std::string_view::npos || length > head) return head + 4;
    std::size_t body = 0;
    std::from_chars(text.data() + length + kName.size(), text.data() + head, body);
    return text.size() >= head + 4 + body ? head + 4 + body : 0;
}

// False when the peer is gone.
bool receive(int fd, std::string& into) {
    std::array<char, 65536> bytes;
    const auto got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) into.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EAGAIN);
}

}  // namespace

base::Fd connect_to(std::uint16_t port) {
    base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0,
          "the server accepts");
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

LoadResult load(std::uint16_t port, const std::string& request, int connections,
                std::chrono::milliseconds time) {
    const base::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    std::vector<Connection> open;
    const auto send = [&](Connection& one) {
        one.sent = Clock::now();
        CHECK(base::write_all(one.fd.get(), request), "the server reads");
    };
    for (int i = 0; i < connections; ++i) {
        open.push_back({.fd = connect_to(port)});
        watch(epoll, open.back().fd.get(), open.size() - 1);
    }
    const auto began = Clock::now();
    for (auto& one : open) send(one);
    std::vector<double> took_ms;
    LoadResult result;
    std::array<epoll_event, kEventsAtOnce> events;
    while (Clock::now() < began + time) {
        const int ready = ::epoll_wait(epoll.get(), events.data(), kEventsAtOnce, 100);
        for (int i = 0; i < ready; ++i) {
            auto& one = open[events[static_cast<std::size_t>(i)].data.u64];
            CHECK(receive(one.fd.get(), one.got), "the server keeps the connection");
            const auto size = response_size(one.got);
            if (size == 0) continue;
            if (!one.got.starts_with("HTTP/1.1 200")) ++result.failures;
            one.got.erase(0, size);
            took_ms.push_back(
                std::chrono::duration<double, std::milli>(Clock::now() - one.sent).count());
            send(one);
        }
    }
    const std::chrono::duration<double> elapsed = Clock::now() - began;
    result.per_second = static_cast<double>(took_ms.size()) / elapsed.count();
    result.p50_ms = percentile(took_ms, 0.5);
    result.p99_ms = percentile(took_ms, 0.99);
    return result;
}

StreamReaders::StreamReaders(std::uint16_t port, const std::string& path, int readers)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (int i = 0; i < readers; ++i) {
        readers_.push_back({.fd = connect_to(port)});
        CHECK(base::write_all(readers_.back().fd.get(), request), "the server reads");
    }
    for (auto& reader : readers_) {
        while (reader.line.find("\r\n\r\n") == std::string::npos) {
            std::array<char, 1024> bytes;
            const auto got = ::recv(reader.fd.get(), bytes.data(), bytes.size(), 0);
            CHECK(got > 0, "a stream begins");
            reader.line.append(bytes.data(), static_cast<std::size_t>(got));
        }
        reader.line = {};
        reader.line.shrink_to_fit();
        watch(epoll_, reader.fd.get(), static_cast<std::size_t>(&reader - readers_.data()));
    }
}

void StreamReaders::read(
    std::chrono::milliseconds wait,
    const std::function<void(std::size_t reader, std::int64_t seq)>& on_event) {
    std::array<epoll_event, kEventsAtOnce> events;
    const int ready =
        ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, static_cast<int>(wait.count()));
    for (int i = 0; i < ready; ++i) {
        const auto number = events[static_cast<std::size_t>(i)].data.u64;
        auto& reader = readers_[number];
        CHECK(receive(reader.fd.get(), reader.line), "the stream continues");
        std::size_t start = 0;
        for (auto end = reader.line.find('\n'); end != std::string::npos;
             end = reader.line.find('\n', start)) {
            const std::string_view line(reader.line.data() + start, end - start);
            if (line.starts_with("id: ")) {
                std::int64_t seq = 0;
                std::from_chars(line.data() + 4, line.data() + line.size(), seq);
                on_event(number, seq);
            }
            start = end + 1;
        }
        reader.line.erase(0, start);
    }
}

}  // namespace bench
