// Who may send requests: tokens, the guard against web pages in a browser, and the limit on
// guessing.
//
// Decided from the head of a request alone, before a byte of its body is read.
#pragma once

#include <unistd.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "surfaces/http/server/exchange.h"
#include "surfaces/http/server/server.h"

namespace http_surface {

// What a route requires of its caller.
enum class Guard {
    Token,       // The token, where the listener requires one.
    Open,        // Nothing.
    Capability,  // A secret in the path, which the service checks.
};

// Whether the text of an address or a name means this machine: localhost, *.localhost, 127.*, ::1.
bool is_loopback(std::string_view host);

bool requires_token(AuthMode mode, bool token_configured, std::string_view listen_host);

// "application/json; charset=utf-8" and "application/cloudevents+json" are JSON.
bool is_json(std::string_view content_type);

// "example.org:80" -> "example.org", "[::1]:80" -> "::1", in lower case; empty when malformed.
std::string host_of(std::string_view host_and_port);

// Failed attempts by peer, in a sliding window. Remembers a bounded number of peers; a flood of
// new ones pushes out the oldest. One thread.
class FailureLimiter {
public:
    static constexpr std::size_t kPeersMax = 4096;
    FailureLimiter(std::size_t failures_max, std::chrono::milliseconds window)
        : failures_max_(failures_max), window_(window) {}

    // How long until the peer may try again; empty when it may now.
    std::optional<std::chrono::seconds> blocked_for(const std::string& peer, base::Time now) const;
    void record(const std::string& peer, base::Time now);

private:
    std::size_t failures_max_;
    std::chrono::milliseconds window_;
    std::map<std::string, std::vector<base::Time>, std::less<>> failures_;
};

struct AccessRules {
    std::optional<std::string> token{};
    std::optional<std::string> viewer_token{};
    std::vector<std::string> allowed_hosts{};
    std::uint32_t owner{::geteuid()};  // This user and root may use the Unix socket.
    std::size_t auth_failures{10};
    std::chrono::milliseconds auth_window{60'000};
};

class Access {
public:
    Access(AccessRules rules, base::Clock& clock);

    // The caller's rights, or the refusal to answer with: 401, 403 or 429. The right token is
    // accepted however many wrong ones came before it: otherwise any local user could lock the
    // operator out.
    std::variant<Rights, Response> admit(Guard guard, const Head& head, const Peer& peer);
    std::uint64_t failures() const { return failures_; }

private:
    std::variant<Rights, Response> check_user(const Peer& peer) const;
    std::variant<Rights, Response> check_token(const Head& head, const Peer& peer);
    std::optional<Response> check_browser(const Head& head) const;
    bool is_known_host(std::string_view host) const;

    AccessRules rules_;
    base::Clock& clock_;
    FailureLimiter limiter_;
    std::uint64_t failures_{0};
};

}  // namespace http_surface
