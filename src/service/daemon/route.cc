#include "service/daemon/route.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <memory>

#include "config/sections/control_token.h"
#include "service/daemon/access/access.h"

namespace service {
namespace {

constexpr std::chrono::milliseconds kTcpLook = 500ms;

bool socket_accepts(const std::filesystem::path& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.string().size() >= sizeof address.sun_path) return false;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const base::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return false;
    // A full backlog gives EAGAIN: a process listens, and is busy.
    return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
           errno == EAGAIN;
}

bool tcp_accepts(const config::HostPort& target) {
    const addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    addrinfo* found = nullptr;
    if (getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &hints, &found) != 0)
        return false;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
    const base::Fd fd(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return false;
    if (connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    pollfd entry{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    if (poll(&entry, 1, static_cast<int>(kTcpLook.count())) != 1) return false;
    int failed = 0;
    socklen_t size = sizeof failed;
    return getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
}

std::string url_of(const DaemonMetadata& metadata) {
    auto address = config::parse_host_port(metadata.http_addr);
    if (!address) return "";
    const ServePlan plan{.listen = *address,
                         .tls = metadata.serve_options && metadata.serve_options->tls_cert
                                    ? std::optional(TlsFiles{})
                                    : std::nullopt};
    return plan.local_url();
}

}  // namespace

std::optional<Address> choose_route(const RouteFacts& facts, const config::Server& server) {
    const std::string token = !server.is_http_addr_set       ? ""
                              : server.control_token.empty() ? facts.own_token
                                                             : server.control_token;
    if (facts.socket_accepts)
        return Address{.socket = server.socket_path,
                       .url = facts.lock_held ? facts.running_url : "",
                       .token = token};
    if (facts.lock_held && !facts.running_url.empty())
        return Address{.url = facts.running_url, .token = token};
    if (!facts.named_url.empty() && facts.named_answers)
        return Address{.url = facts.named_url, .token = token};
    return std::nullopt;
}

std::optional<Address> find_runtime(const RunFiles& files, const config::Server& server) {
    RouteFacts facts{.socket_accepts = socket_accepts(server.socket_path),
                     .lock_held = is_runtime_locked(files)};
    if (facts.lock_held) {
        if (const auto metadata = read_metadata(files)) facts.running_url = url_of(*metadata);
        if (auto token = config::read_control_token(server.control_token_file))
            facts.own_token = std::move(*token);
    }
    if (server.is_http_addr_set && !facts.socket_accepts && !facts.lock_held) {
        const auto named = config::parse_host_port(server.http_addr);
        facts.named_url = ServePlan{.listen = *named}.local_url();
        facts.named_answers = tcp_accepts(*named);
    }
    return choose_route(facts, server);
}

}  // namespace service
