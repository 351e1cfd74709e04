#include "config/sections/server.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;

std::string value_of(const std::map<std::string, std::string>& environment,
                     const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : std::string(base::trim(found->second));
}

std::optional<int> parse_port(std::string_view text) {
    int port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size() || port < 1 || port > 65535)
        return std::nullopt;
    return port;
}

bool is_host(std::string_view host) {
    return !host.empty() && std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    });
}

bool is_ipv6(std::string_view host) {
    in6_addr address{};
    return inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
}

}  // namespace

std::optional<HostPort> parse_host_port(std::string_view text) {
    if (is_ipv6(text)) return HostPort{std::string(text)};
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == text.npos || !is_ipv6(text.substr(1, close - 1))) return std::nullopt;
        const std::string host(text.substr(1, close - 1));
        const auto rest = text.substr(close + 1);
        if (rest.empty()) return HostPort{host};
        const auto port = rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt;
        return port ? std::optional(HostPort{host, *port}) : std::nullopt;
    }
    const std::size_t colon = text.find(':');
    const auto host = text.substr(0, colon);
    if (!is_host(host)) return std::nullopt;
    if (colon == text.npos) return HostPort{std::string(host)};
    const auto port = parse_port(text.substr(colon + 1));
    return port ? std::optional(HostPort{std::string(host), *port}) : std::nullopt;
}

std::string to_text(const HostPort& address) {
    const bool bracketed = address.host.contains(':');
    std::string text = bracketed ? "[" + address.host + "]" : address.host;
    if (address.port != 0) text += fmt::format(":{}", address.port);
    return text;
}

bool is_ip(std::string_view host) {
    in_addr address{};
    return is_ipv6(host) || inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

bool is_loopback(std::string_view host) {
    in_addr address{};
    if (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1)
        return (ntohl(address.s_addr) >> 24) == 127;
    in6_addr long_address{};
    if (inet_pton(AF_INET6, std::string(host).c_str(), &long_address) == 1)
        return IN6_IS_ADDR_LOOPBACK(&long_address);
    return host == "localhost" || host.ends_with(".localhost");
}

base::Result<std::string> check_token(std::string_view text, std::string_view where) {
    const auto token = base::trim(text);
    if (token.empty()) return fail(ErrorCode::InvalidInput, "{}: the token is blank", where);
    if (token.size() > kTokenBytesMax)
        return fail(ErrorCode::InvalidInput, "{}: the token is longer than {} bytes", where,
                    kTokenBytesMax);
    const bool is_plain = std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
    if (!is_plain)
        return fail(ErrorCode::InvalidInput,
                    "{}: the token contains a space or a character that is not allowed in a header",
                    where);
    return std::string(token);
}

base::Result<Server> load_server(const std::filesystem::path& home,
                                 const std::map<std::string, std::string>& environment) {
    Server server;
    if (const auto text = value_of(environment, "HOLON_HTTP_ADDR"); !text.empty()) {
        auto address = parse_host_port(text);
        if (!address)
            return fail(ErrorCode::InvalidInput, "HOLON_HTTP_ADDR must be host:port, got '{}'",
                        base::printable(text));
        if (address->port == 0) address->port = kDefaultPort;
        server.http_addr = to_text(*address);
        server.is_http_addr_set = true;
    }
    if (const auto url = value_of(environment, "HOLON_CALLBACK_BASE_URL"); !url.empty())
        server.callback_base_url = url;
    server.socket_path = home / "run" / "holon.sock";
    if (const auto path = value_of(environment, "HOLON_SOCKET_PATH"); !path.empty())
        server.socket_path = path;
    server.control_token_file = home / "control-token";
    if (const auto token = value_of(environment, "HOLON_CONTROL_TOKEN"); !token.empty())
        server.control_token = TRY(check_token(token, "HOLON_CONTROL_TOKEN"));
    if (const auto token = value_of(environment, "HOLON_VIEWER_TOKEN"); !token.empty())
        server.viewer_token = TRY(check_token(token, "HOLON_VIEWER_TOKEN"));
    if (const auto mode = value_of(environment, "HOLON_CONTROL_AUTH_MODE"); !mode.empty()) {
        const auto parsed = base::enum_from<AuthMode>(mode);
        if (!parsed)
            return fail(ErrorCode::InvalidInput,
                        "HOLON_CONTROL_AUTH_MODE must be auto, required or disabled, got '{}'",
                        base::printable(mode));
        server.control_auth_mode = *parsed;
    }
    return server;
}

}  // namespace config
