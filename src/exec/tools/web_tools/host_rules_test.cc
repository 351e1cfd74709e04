#include "exec/tools/web_tools/host_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <gmock/gmock.h>

namespace web_tools {
namespace {

sockaddr_storage address_of(const std::string& text) {
    sockaddr_storage storage{};
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1)
        v4.sin_family = AF_INET;
    else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1)
        v6.sin6_family = AF_INET6;
    return storage;
}

bool may(const std::string& url, const std::string& address,
         const config::WebFetch& settings = {}) {
    const auto storage = address_of(address);
    return may_connect(parse_url(url).value(), reinterpret_cast<const sockaddr&>(storage),
                       settings);
}

TEST(HostRules, OnlyPublicAddressesAreReached) {
    for (const char* address : {"93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946"})
        EXPECT_TRUE(may("http://example.com/", address)) << address;
    for (const char* address : {"127.0.0.1",
                                "127.8.8.8",
                                "10.0.0.1",
                                "172.16.0.1",
                                "172.31.255.255",
                                "192.168.1.1",
                                "169.254.1.1",
                                "100.64.0.1",
                                "0.0.0.0",
                                "224.0.0.1",
                                "255.255.255.255",
                                "::1",
                                "::",
                                "fe80::1",
                                "fc00::1",
                                "fd12::1",
                                "ff02::1",
                                "::ffff:127.0.0.1",
                                "::ffff:10.0.0.1",
                                "64:ff9b::7f00:1",
                                "169.254.169.254",
                                "168.63.129.16",
                                "fd00:ec2::254"})
        EXPECT_FALSE(may("http://example.com/", address)) << address;
}

TEST(HostRules, AnAllowRuleOpensAPrivateHostButNeverAMetadataService) {
    const config::WebFetch settings{.allowed_hosts = {"wiki.internal", "127.0.0.1:8080"}};
    EXPECT_TRUE(may("http://wiki.internal/", "10.0.0.7", settings));
    EXPECT_TRUE(may("http://127.0.0.1:8080/", "127.0.0.1", settings));
    EXPECT_FALSE(may("http://127.0.0.1:8081/", "127.0.0.1", settings));
    for (const char* address : {"169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254",
                                "100.100.100.200", "168.63.129.16"})
        EXPECT_FALSE(may("http://wiki.internal/", address, settings)) << address;
}

TEST(HostRules, NamesAreMatchedWholeAndInAnyCase) {
    const std::vector<std::string> rules{"Example.com", "*.example.org", "api.example.net:8443",
                                         "[::1]:81"};
    for (const char* url :
         {"http://example.com/", "https://EXAMPLE.com:99/", "http://a.example.org/",
          "http://a.b.example.org/", "https://api.example.net:8443/", "http://[::1]:81/"})
        EXPECT_TRUE(matches_rule(parse_url(url).value(), rules)) << url;
    for (const char* url :
         {"http://sub.example.com/", "http://notexample.com/", "http://example.org/",
          "http://xexample.org/", "https://api.example.net/", "http://[::1]/", "http://[::2]:81/"})
        EXPECT_FALSE(matches_rule(parse_url(url).value(), rules)) << url;
}

TEST(HostRules, TheListsDecideByName) {
    const auto why = [](const char* url, const config::WebFetch& settings) {
        return host_refusal(parse_url(url).value(), settings).value_or("");
    };
    EXPECT_EQ(why("http://example.com/", {}), "");
    EXPECT_THAT(why("http://metadata.google.internal/", {.allowed_hosts = {"*.internal"}}),
                testing::HasSubstr("metadata"));
    EXPECT_THAT(why("http://example.com:99/", {.denied_hosts = {"example.com"}}),
                testing::HasSubstr("denied_hosts"));
    EXPECT_THAT(why("http://example.com/", {.allowed_hosts = {"example.org"}}),
                testing::HasSubstr("allowed_hosts"));
    // A host that is on both lists is denied.
    EXPECT_THAT(
        why("http://a.example/", {.allowed_hosts = {"a.example"}, .denied_hosts = {"a.example"}}),
        testing::HasSubstr("denied_hosts"));
}

}  // namespace
}  // namespace web_tools
