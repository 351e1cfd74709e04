#include "service/local/settings/reach.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/os/files.h"

namespace service {
namespace {

TEST(Reach, SeesWhetherSomethingListens) {
    const base::Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    const int port = ntohs(address.sin_port);
    EXPECT_FALSE(is_reachable("127.0.0.1", port, kLocalProbeTimeout));
    ASSERT_EQ(listen(listener.get(), 1), 0);
    EXPECT_TRUE(is_reachable("127.0.0.1", port, kLocalProbeTimeout));
    EXPECT_FALSE(is_reachable("not a host", port, kLocalProbeTimeout));
}

TEST(Reach, FindsTheEndpointInAUrl) {
    EXPECT_EQ(endpoint_of("https://api.example.net/v1"), (Endpoint{"api.example.net", 443}));
    EXPECT_EQ(endpoint_of("http://127.0.0.1:8000/v1"), (Endpoint{"127.0.0.1", 8000}));
    EXPECT_EQ(endpoint_of("http://[::1]:81"), (Endpoint{"::1", 81}));
    EXPECT_EQ(endpoint_of("http://[::1]"), (Endpoint{"::1", 80}));
    for (const char* bad :
         {"", "ftp://h", "http://", "http://h:x", "http://h:0", "http://h:99999", "http://h:"})
        EXPECT_EQ(endpoint_of(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace service
