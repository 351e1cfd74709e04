#include "exec/tools/mcp/oauth/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/text.h"

namespace mcp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWaitingMax = 16;

int left_until(Clock::time_point end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    return left > 0 ? static_cast<int>(left) : 0;
}

// Adds what can be read now; false at the end of the input or when it is too long.
bool add_input(int fd, std::string& text) {
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (size <= 0 || text.size() > kRedirectBytesMax) return false;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
}

// The target of the GET request that somebody sends, or nothing.
std::optional<std::string> requested(int fd) {
    std::string head;
    const auto end = Clock::now() + kRedirectPatience;
    while (!head.contains("\r\n\r\n")) {
        pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&waiting, 1, left_until(end));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || !add_input(fd, head)) return std::nullopt;
    }
    const auto line = head.substr(0, head.find("\r\n"));
    if (!line.starts_with("GET /")) return std::nullopt;
    return line.substr(4, line.find(' ', 4) - 4);
}

void answer(int fd, bool is_accepted) {
    const std::string_view text = is_accepted
                                      ? "holon is logged in. You can close this window.\n"
                                      : "This address does not belong to a login of holon.\n";
    const auto response = fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{}",
        is_accepted ? "200 OK" : "404 Not Found", text.size(), text);
    std::ignore = ::send(fd, response.data(), response.size(), MSG_NOSIGNAL);
}

}  // namespace

base::Result<Listener> Listener::open(int port) {
    Listener listener;
    listener.socket_ = base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    ::setsockopt(listener.socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (!listener.socket_ || ::bind(listener.socket_.get(), plain, size) != 0 ||
        ::listen(listener.socket_.get(), kWaitingMax) != 0 ||
        ::getsockname(listener.socket_.get(), plain, &size) != 0)
        return base::fail_errno(fmt::format("listen on port {} of 127.0.0.1", port));
    listener.redirect_uri_ = fmt::format("http://127.0.0.1:{}/redirect", ntohs(address.sin_port));
    return listener;
}

base::Result<std::string> Listener::wait(int in, std::chrono::milliseconds patience,
                                         const std::function<bool(std::string_view)>& accepts,
                                         const std::function<void()>& on_refused) {
    const auto end = Clock::now() + patience;
    std::string typed;
    while (left_until(end) > 0) {
        std::array<pollfd, 2> waiting{{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                       {.fd = in, .events = POLLIN, .revents = 0}}};
        const int ready = ::poll(waiting.data(), waiting.size(), left_until(end));
        if (ready < 0 && errno != EINTR) return base::fail_errno("wait for the browser");
        if (ready <= 0) continue;
        if ((waiting[0].revents & POLLIN) != 0) {
            const base::Fd visitor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            const auto target = visitor ? requested(visitor.get()) : std::nullopt;
            const bool is_accepted =
                target && target->starts_with("/redirect?") && accepts(*target);
            if (visitor) answer(visitor.get(), is_accepted);
            if (is_accepted) return *target;
        }
        if (waiting[1].revents == 0) continue;
        if (!add_input(in, typed)) in = -1;  // The browser may still come back.
        for (auto newline = typed.find('\n'); newline != typed.npos; newline = typed.find('\n')) {
            std::string line(base::trim(typed.substr(0, newline)));
            typed.erase(0, newline + 1);
            if (accepts(line)) return line;
            if (!line.empty()) on_refused();
        }
    }
    return base::fail(base::ErrorCode::Unavailable, "nobody came back within {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(patience).count());
}

}  // namespace mcp
