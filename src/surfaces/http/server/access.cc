#include "surfaces/http/server/access.h"

#include <cctype>

#include "base/hash.h"
#include "base/text.h"
#include "surfaces/http/server/errors.h"

namespace http_surface {
namespace {

constexpr std::string_view kScheme = "Bearer ";

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

Response unauthorized() {
    auto response = refusal(401, "unauthorized",
                            "this listener requires a token; send Authorization: Bearer <token>");
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"holon\"");
    return response;
}

Response too_many(std::chrono::seconds wait) {
    auto response = refusal(429, "too_many_failures",
                            "too many wrong tokens from this address; try again later");
    response.headers.emplace_back("Retry-After", std::to_string(wait.count()));
    return response;
}

// The host of an Origin such as "https://example.org:8443"; empty for "null" and the like.
std::string origin_host(std::string_view origin) {
    const auto scheme = origin.find("://");
    return scheme == std::string_view::npos ? "" : host_of(origin.substr(scheme + 3));
}

}  // namespace

bool is_loopback(std::string_view host) {
    const std::string name = lower(host);
    return name == "localhost" || name.ends_with(".localhost") || name == "::1" ||
           (name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string::npos);
}

bool requires_token(AuthMode mode, bool token_configured, std::string_view listen_host) {
    switch (mode) {
        case AuthMode::Auto:
            return token_configured || !is_loopback(listen_host);
        case AuthMode::Required:
            return true;
        case AuthMode::Disabled:
            return false;
    }
    return true;
}

bool is_json(std::string_view content_type) {
    const std::string type = lower(base::trim(content_type.substr(0, content_type.find(';'))));
    return type == "application/json" ||
           (type.starts_with("application/") && type.ends_with("+json"));
}

std::string host_of(std::string_view host_and_port) {
    if (host_and_port.starts_with('[')) {
        const auto end = host_and_port.find(']');
        return end == std::string_view::npos ? "" : lower(host_and_port.substr(1, end - 1));
    }
    const auto colon = host_and_port.find(':');
    if (colon != std::string_view::npos && host_and_port.find(':', colon + 1) != colon &&
        host_and_port.find(':', colon + 1) != std::string_view::npos)
        return "";  // A bare IPv6 address is not allowed here.
    return lower(host_and_port.substr(0, colon));
}

std::optional<std::chrono::seconds> FailureLimiter::blocked_for(const std::string& peer,
                                                                base::Time now) const {
    const auto entry = failures_.find(peer);
    if (entry == failures_.end() || entry->second.size() < failures_max_) return std::nullopt;
    const base::Time free_at = entry->second.front() + window_;
    if (now >= free_at) return std::nullopt;
    return std::chrono::ceil<std::chrono::seconds>(free_at - now);
}

void FailureLimiter::record(const std::string& peer, base::Time now) {
    if (failures_.size() >= kPeersMax && !failures_.contains(peer)) {
        const auto oldest = std::ranges::min_element(
            failures_, {}, [](const auto& entry) { return entry.second.back(); });
        failures_.erase(oldest);
    }
    auto& times = failures_[peer];
    std::erase_if(times, [&](base::Time time) { return time + window_ <= now; });
    if (times.size() >= failures_max_) times.erase(times.begin());
    times.push_back(now);
}

Access::Access(AccessRules rules, base::Clock& clock)
    : rules_(std::move(rules)), clock_(clock), limiter_(rules_.auth_failures, rules_.auth_window) {}

std::variant<Rights, Response> Access::admit(Guard guard, const Head& head, const Peer& peer) {
    if (guard != Guard::Token)
        return Rights{.admission = domain::AdmissionContext::PublicUnauthenticated,
                      .control = false,
                      .replay = false};
    if (peer.is_unix) return check_user(peer);
    if (peer.token_required) return check_token(head, peer);
    if (auto refused = check_browser(head)) return std::move(*refused);
    return Rights{};
}

// The mode of the socket keeps others out already, unless its folder or mode was changed.
std::variant<Rights, Response> Access::check_user(const Peer& peer) const {
    if (peer.uid && (*peer.uid == rules_.owner || *peer.uid == 0)) return Rights{};
    return refusal(403, "forbidden", "this socket is for the user that runs the daemon");
}

std::variant<Rights, Response> Access::check_token(const Head& head, const Peer& peer) {
    if (!head.authorization) return unauthorized();
    const std::string_view sent = *head.authorization;
    const bool bearer = sent.starts_with(kScheme);
    const std::string_view secret = bearer ? sent.substr(kScheme.size()) : std::string_view();
    constexpr auto kAuthenticated = domain::AdmissionContext::ControlAuthenticated;
    if (bearer && rules_.token && base::equal_in_constant_time(secret, *rules_.token))
        return Rights{.admission = kAuthenticated};
    if (bearer && rules_.viewer_token && base::equal_in_constant_time(secret, *rules_.viewer_token))
        return Rights{.admission = kAuthenticated, .control = false, .replay = false};
    const base::Time now = clock_.now();
    if (const auto wait = limiter_.blocked_for(peer.key, now)) return too_many(*wait);
    ++failures_;
    limiter_.record(peer.key, now);
    return refusal(403, "forbidden",
                   rules_.token ? "the token is wrong"
                                : "this listener requires a token, but none is configured; set one "
                                  "with --token-file");
}

// Without a token, a page of any site could reach this listener through the user's browser: by a
// name that resolves to it (the Host header shows that), or by a form (the Origin header shows
// that).
std::optional<Response> Access::check_browser(const Head& head) const {
    if (!head.host || !is_known_host(host_of(*head.host)))
        return refusal(
            403, "host_not_allowed",
            "this listener answers to loopback names only; use localhost, or set a token");
    if (head.origin && !is_known_host(origin_host(*head.origin)))
        return refusal(403, "origin_not_allowed",
                       "pages of other sites may not use this listener; set a token");
    return std::nullopt;
}

bool Access::is_known_host(std::string_view host) const {
    return is_loopback(host) ||
           std::ranges::any_of(rules_.allowed_hosts,
                               [&](const std::string& known) { return lower(known) == host; });
}

}  // namespace http_surface
