#include "exec/sandbox/proxy/rules.h"

#include <arpa/inet.h>

#include <gtest/gtest.h>

namespace sandbox {
namespace {

bool allows(const std::string& rule, const std::string& destination) {
    const auto parsed = parse_destination(destination, 443);
    return parsed && is_allowed(*parsed, {rule});
}

TEST(ProxyRules, LetThroughWhatTheyName) {
    EXPECT_TRUE(allows("example.com", "example.com"));
    EXPECT_TRUE(allows("example.com", "EXAMPLE.com.:80"));
    EXPECT_TRUE(allows("Example.com:8443", "example.com:8443"));
    EXPECT_TRUE(allows("*.example.com", "a.b.example.com"));
    EXPECT_TRUE(allows("*.example.com:22", "git.example.com:22"));
    EXPECT_TRUE(allows("127.0.0.1:5000", "127.0.0.1:5000"));
}

TEST(ProxyRules, RefuseEverythingElse) {
    EXPECT_FALSE(allows("example.com", "example.com:22"));
    EXPECT_FALSE(allows("example.com:8443", "example.com:443"));
    EXPECT_FALSE(allows("example.com", "evil-example.com"));
    EXPECT_FALSE(allows("example.com", "example.com.evil.net"));
    EXPECT_FALSE(allows("*.example.com", "example.com"));
    EXPECT_FALSE(allows("*.example.com", "evilexample.com"));
    EXPECT_FALSE(allows("example.com", "example.com@evil.net"));
    EXPECT_FALSE(allows("example.com", "example.com#x"));
    EXPECT_FALSE(allows("example.com", "example.com:443:80"));
    EXPECT_FALSE(allows("example.com", "example.com:99999"));
    EXPECT_FALSE(allows("example.com", ""));
    EXPECT_FALSE(allows("example.com", "[example.com]:443"));
    EXPECT_FALSE(allows("", "example.com"));
}

TEST(ProxyRules, KnowPrivateAddresses) {
    for (const char* text :
         {"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
          "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1"}) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        ASSERT_EQ(::inet_pton(AF_INET, text, &address.sin_addr), 1);
        EXPECT_TRUE(is_private(reinterpret_cast<sockaddr&>(address))) << text;
    }
    for (const char* text : {"::1", "::", "fe80::1", "fc00::1", "fd12::1", "::ffff:127.0.0.1",
                             "::ffff:10.0.0.1", "64:ff9b::7f00:1", "ff02::1", "::127.0.0.1"}) {
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        ASSERT_EQ(::inet_pton(AF_INET6, text, &address.sin6_addr), 1);
        EXPECT_TRUE(is_private(reinterpret_cast<sockaddr&>(address))) << text;
    }
    for (const char* text : {"1.1.1.1", "8.8.8.8", "172.32.0.1", "93.184.216.34"}) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        ASSERT_EQ(::inet_pton(AF_INET, text, &address.sin_addr), 1);
        EXPECT_FALSE(is_private(reinterpret_cast<sockaddr&>(address))) << text;
    }
}

TEST(ProxyRequest, NamesOneDestination) {
    const auto tunnel = parse_request("CONNECT example.com:443 HTTP/1.1\r\nHost: evil.net\r\n\r\n");
    ASSERT_TRUE(tunnel);
    EXPECT_EQ(tunnel->destination, (Destination{"example.com", 443}));
    EXPECT_TRUE(tunnel->is_tunnel);
    const auto plain = parse_request(
        "GET http://example.com:8080/a?b HTTP/1.1\r\nHost: evil.net\r\nProxy-Authorization: x\r\n"
        "Connection: keep-alive\r\nAccept: */*\r\n\r\n");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->destination, (Destination{"example.com", 8080}));
    EXPECT_EQ(plain->forwarded,
              "GET /a?b HTTP/1.1\r\nAccept: */*\r\nHost: example.com:8080\r\n"
              "Connection: close\r\n\r\n");
}

TEST(ProxyRequest, IsRefusedInOtherForms) {
    for (const char* head :
         {"", "\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "CONNECT  HTTP/1.1\r\n\r\n",
          "GET https://example.com/ HTTP/1.1\r\n\r\n", "GET http://u@example.com/ HTTP/1.1\r\n\r\n",
          "CONNECT example.com:443 HTTP/2\r\n\r\n", "SOCKS\r\n\r\n",
          "CONNECT exa\"mple.com:443 HTTP/1.1\r\n\r\n"})
        EXPECT_FALSE(parse_request(head)) << head;
}

}  // namespace
}  // namespace sandbox
