#include "config/sections/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace config {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Server, HasItsDefaultsBelowTheHome) {
    const auto server = load_server("/h", {});
    ASSERT_TRUE(server);
    EXPECT_EQ(server->http_addr, "127.0.0.1:7878");
    EXPECT_FALSE(server->is_http_addr_set);
    EXPECT_EQ(server->socket_path, "/h/run/holon.sock");
    EXPECT_EQ(server->control_token, "");
    EXPECT_EQ(server->control_auth_mode, AuthMode::Auto);
}

TEST(Server, TakesTheDefaultPortWhenTheAddressHasNone) {
    EXPECT_EQ(load_server("/h", {{"HOLON_HTTP_ADDR", "10.0.0.7"}})->http_addr, "10.0.0.7:7878");
    EXPECT_EQ(load_server("/h", {{"HOLON_HTTP_ADDR", "::1"}})->http_addr, "[::1]:7878");
}

TEST(Server, NamesTheVariableThatIsWrong) {
    EXPECT_THAT(load_server("/h", {{"HOLON_HTTP_ADDR", "a:b:c"}}).error().message,
                HasSubstr("HOLON_HTTP_ADDR"));
    EXPECT_THAT(load_server("/h", {{"HOLON_CONTROL_AUTH_MODE", "maybe"}}).error().message,
                HasSubstr("HOLON_CONTROL_AUTH_MODE"));
}

TEST(Server, NeverRepeatsATokenItRefuses) {
    const auto refused = load_server("/h", {{"HOLON_CONTROL_TOKEN", "sec\nret"}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, Not(HasSubstr("ret\"")));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("sec")));
}

TEST(Server, ReadsAddressesInAllTheirSpellings) {
    EXPECT_EQ(parse_host_port("127.0.0.1:80"), (HostPort{"127.0.0.1", 80}));
    EXPECT_EQ(parse_host_port("[::1]:80"), (HostPort{"::1", 80}));
    EXPECT_EQ(parse_host_port("fe80::2"), (HostPort{"fe80::2", 0}));
    EXPECT_EQ(parse_host_port("box.local"), (HostPort{"box.local", 0}));
    for (const char* bad : {"", ":80", "h:0", "h:65536", "h:8x", "[::1", "[h]:80", "a b", "h:1:2"})
        EXPECT_EQ(parse_host_port(bad), std::nullopt) << bad;
    EXPECT_EQ(to_text(HostPort{"::1", 80}), "[::1]:80");
}

TEST(Server, TakesANameForForeignUnlessItIsKnownToBeLocal) {
    for (const char* local : {"127.0.0.1", "127.9.9.9", "::1", "localhost"})
        EXPECT_TRUE(is_loopback(local)) << local;
    for (const char* foreign : {"0.0.0.0", "::", "10.0.0.1", "127.evil.example", "localhost.com"})
        EXPECT_FALSE(is_loopback(foreign)) << foreign;
}

}  // namespace
}  // namespace config
