#include "service/local/settings/reach.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <memory>

#include "base/os/files.h"

namespace service {
namespace {

constexpr int kHttpPort = 80;
constexpr int kHttpsPort = 443;

bool connects(const addrinfo& address, std::chrono::milliseconds timeout) {
    const base::Fd fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return false;
    if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    pollfd entry{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    if (poll(&entry, 1, static_cast<int>(timeout.count())) != 1) return false;
    int failed = 0;
    socklen_t size = sizeof failed;
    return getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
}

}  // namespace

bool is_reachable(const std::string& host, int port, std::chrono::milliseconds timeout) {
    const addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next)
        if (connects(*address, timeout)) return true;
    return false;
}

std::optional<Endpoint> endpoint_of(std::string_view url) {
    Endpoint endpoint;
    if (url.starts_with("https://"))
        endpoint.port = kHttpsPort;
    else if (url.starts_with("http://"))
        endpoint.port = kHttpPort;
    else
        return std::nullopt;
    url.remove_prefix(url.find("//") + 2);
    url = url.substr(0, url.find_first_of("/?#"));
    const bool is_bracketed = url.starts_with('[');  // An IPv6 address.
    const std::size_t host_end = is_bracketed ? url.find(']') : url.find(':');
    endpoint.host = url.substr(is_bracketed ? 1 : 0, host_end - (is_bracketed ? 1 : 0));
    const std::size_t colon =
        host_end == std::string_view::npos ? host_end : url.find(':', host_end);
    if (colon != std::string_view::npos) {
        const std::string_view port = url.substr(colon + 1);
        const auto [end, error] =
            std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
        if (error != std::errc{} || end != port.data() + port.size()) return std::nullopt;
    }
    if (endpoint.host.empty() || endpoint.port < 1 || endpoint.port > 65'535) return std::nullopt;
    return endpoint;
}

}  // namespace service
