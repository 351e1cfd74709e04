#include "exec/tools/web_tools/host_rules.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "exec/sandbox/proxy/rules.h"

namespace web_tools {
namespace {

// Names by which metadata services are found inside clouds.
constexpr auto kMetadataNames = std::to_array<std::string_view>(
    {"metadata.google.internal", "metadata", "instance-data", "instance-data.ec2.internal"});
// Amazon, Google, Azure and others; Amazon's containers; Alibaba; Oracle; Azure's host service.
constexpr auto kMetadataV4 =
    std::to_array<const char*>({"169.254.169.254", "169.254.170.2", "169.254.170.23",
                                "100.100.100.200", "192.0.0.192", "168.63.129.16"});
constexpr auto kMetadataV6 =
    std::to_array<const char*>({"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"});

bool equals(const in_addr& address, const char* text) {
    in_addr other{};
    return ::inet_pton(AF_INET, text, &other) == 1 && other.s_addr == address.s_addr;
}

bool equals(const in6_addr& address, const char* text) {
    in6_addr other{};
    return ::inet_pton(AF_INET6, text, &other) == 1 && IN6_ARE_ADDR_EQUAL(&address, &other);
}

bool matches_host(const std::string& host, std::string_view rule) {
    if (!rule.starts_with("*.")) return host == rule;
    const std::string_view tail = rule.substr(1);  // ".example.com"
    return host.size() > tail.size() && host.ends_with(tail);
}

bool matches_one(const Url& url, std::string rule) {
    std::ranges::transform(rule, rule.begin(), [](unsigned char c) { return std::tolower(c); });
    if (matches_host(url.host, rule)) return true;
    if (rule.starts_with('[')) {  // "[::1]" or "[::1]:8080"
        const auto end = rule.find(']');
        if (end == rule.npos || url.host != rule.substr(1, end - 1)) return false;
        return end + 1 == rule.size() || rule.substr(end + 1) == ":" + std::to_string(url.port);
    }
    const auto colon = rule.rfind(':');
    return colon != rule.npos && rule.substr(colon + 1) == std::to_string(url.port) &&
           matches_host(url.host, std::string_view(rule).substr(0, colon));
}

}  // namespace

bool matches_rule(const Url& url, const std::vector<std::string>& rules) {
    return std::ranges::any_of(rules,
                               [&](const std::string& rule) { return matches_one(url, rule); });
}

std::optional<std::string> host_refusal(const Url& url, const config::WebFetch& settings) {
    if (std::ranges::find(kMetadataNames, std::string_view(url.host)) != kMetadataNames.end())
        return "it is a metadata service of a cloud";
    if (matches_rule(url, settings.denied_hosts)) return "web.fetch.denied_hosts names it";
    if (!settings.allowed_hosts.empty() && !matches_rule(url, settings.allowed_hosts))
        return "web.fetch.allowed_hosts does not name it";
    return std::nullopt;
}

bool is_metadata(const sockaddr& address) {
    if (address.sa_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
        return std::ranges::any_of(kMetadataV4, [&](auto text) { return equals(v4, text); });
    }
    if (address.sa_family != AF_INET6) return true;
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        in_addr v4{};
        std::copy_n(v6.s6_addr + 12, sizeof v4.s_addr, reinterpret_cast<std::uint8_t*>(&v4.s_addr));
        return std::ranges::any_of(kMetadataV4, [&](auto text) { return equals(v4, text); });
    }
    return std::ranges::any_of(kMetadataV6, [&](auto text) { return equals(v6, text); });
}

bool may_connect(const Url& url, const sockaddr& address, const config::WebFetch& settings) {
    if (is_metadata(address)) return false;
    return !sandbox::is_private(address) || matches_rule(url, settings.allowed_hosts);
}

}  // namespace web_tools
