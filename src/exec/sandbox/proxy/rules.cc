#include "exec/sandbox/proxy/rules.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>

#include <arpa/inet.h>

namespace sandbox {
namespace {

constexpr std::size_t kHostBytesMax = 253;

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

std::optional<int> parse_port(std::string_view text) {
    int port = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failed != std::errc() || end != text.data() + text.size() || port < 1 || port > 65535)
        return std::nullopt;
    return port;
}

bool is_host_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
}

struct Rule {
    std::string host;
    std::optional<int> port;
};

Rule parse_rule(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon != std::string_view::npos)
        if (const auto port = parse_port(text.substr(colon + 1)))
            return {lower(text.substr(0, colon)), port};
    return {lower(text), std::nullopt};
}

bool matches_host(const std::string& host, const std::string& rule) {
    if (!rule.starts_with("*.")) return host == rule;
    const std::string_view tail = std::string_view(rule).substr(1);  // ".example.com"
    return host.size() > tail.size() && host.ends_with(tail);
}

bool is_private_v4(std::uint32_t a) {
    const auto in = [a](std::uint32_t net, int bits) {
        return (a >> (32 - bits)) == (net >> (32 - bits));
    };
    return in(0x00000000, 8) || in(0x0a000000, 8) || in(0x64400000, 10) || in(0x7f000000, 8) ||
           in(0xa9fe0000, 16) || in(0xac100000, 12) || in(0xc0000000, 24) || in(0xc0a80000, 16) ||
           in(0xc6120000, 15) || in(0xe0000000, 4) || in(0xf0000000, 4);
}

}  // namespace

std::optional<Destination> parse_destination(std::string_view text, int port_default) {
    Destination destination{.port = port_default};
    std::string_view host = text;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        host = text.substr(1, end - 1);
        const auto rest = text.substr(end + 1);
        in6_addr ignored{};
        if (::inet_pton(AF_INET6, std::string(host).c_str(), &ignored) != 1) return std::nullopt;
        if (!rest.empty()) {
            const auto port = rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt;
            if (!port) return std::nullopt;
            destination.port = *port;
        }
    } else {
        if (const auto colon = text.find(':'); colon != std::string_view::npos) {
            host = text.substr(0, colon);
            const auto port = parse_port(text.substr(colon + 1));
            if (!port) return std::nullopt;
            destination.port = *port;
        }
        if (host.ends_with('.')) host.remove_suffix(1);
        if (host.empty() || host.size() > kHostBytesMax || !std::ranges::all_of(host, is_host_char))
            return std::nullopt;
    }
    destination.host = lower(host);
    return destination;
}

bool is_allowed(const Destination& destination, const std::vector<std::string>& rules) {
    return std::ranges::any_of(rules, [&](const std::string& text) {
        const Rule rule = parse_rule(text);
        const bool port = rule.port ? destination.port == *rule.port
                                    : destination.port == 80 || destination.port == 443;
        return port && matches_host(destination.host, rule.host);
    });
}

bool is_private(const sockaddr& address) {
    if (address.sa_family == AF_INET)
        return is_private_v4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
    if (address.sa_family != AF_INET6) return true;
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6) || IN6_IS_ADDR_V4COMPAT(&v6)) {
        std::uint32_t v4 = 0;
        std::memcpy(&v4, v6.s6_addr + 12, 4);
        return is_private_v4(ntohl(v4));
    }
    const bool translated =
        v6.s6_addr[0] == 0x00 && v6.s6_addr[1] == 0x64;  // 64:ff9b::/96 and kin.
    return IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_UNSPECIFIED(&v6) ||
           IN6_IS_ADDR_LINKLOCAL(&v6) || IN6_IS_ADDR_SITELOCAL(&v6) || IN6_IS_ADDR_MULTICAST(&v6) ||
           translated || (v6.s6_addr[0] & 0xfe) == 0xfc;
}

bool is_address(const std::string& host) {
    in6_addr ignored{};
    return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

std::optional<Request> parse_request(std::string_view head) {
    const auto line_end = head.find("\r\n");
    if (line_end == std::string_view::npos) return std::nullopt;
    const auto line = head.substr(0, line_end);
    const auto first = line.find(' ');
    const auto second = line.rfind(' ');
    if (first == std::string_view::npos || first == second) return std::nullopt;
    const auto method = line.substr(0, first);
    auto target = line.substr(first + 1, second - first - 1);
    const auto version = line.substr(second + 1);
    if (!version.starts_with("HTTP/1.")) return std::nullopt;
    if (method == "CONNECT") {
        const auto destination = parse_destination(target, 443);
        if (!destination) return std::nullopt;
        return Request{*destination, true, {}};
    }
    constexpr std::string_view kScheme = "http://";
    if (!lower(target.substr(0, kScheme.size())).starts_with(kScheme)) return std::nullopt;
    target.remove_prefix(kScheme.size());
    const auto slash = target.find_first_of("/?");
    const auto authority = target.substr(0, slash);
    std::string path(slash == std::string_view::npos ? "/" : target.substr(slash));
    if (path.starts_with('?')) path.insert(0, "/");
    if (authority.find('@') != std::string_view::npos) return std::nullopt;
    const auto destination = parse_destination(authority, 80);
    if (!destination) return std::nullopt;
    // One request, one connection: a second one could name another host.
    std::string forwarded = std::string(method) + " " + path + " HTTP/1.1\r\n";
    for (auto rest = head.substr(line_end + 2); !rest.empty();) {
        const auto end = rest.find("\r\n");
        const auto header = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
        const std::string name = lower(header.substr(0, header.find(':')));
        if (header.empty() || name == "connection" || name == "proxy-connection" ||
            name == "proxy-authorization" || name == "keep-alive" || name == "host")
            continue;
        forwarded += std::string(header) + "\r\n";
    }
    forwarded += "Host: " + std::string(authority) + "\r\nConnection: close\r\n\r\n";
    return Request{*destination, false, std::move(forwarded)};
}

}  // namespace sandbox
