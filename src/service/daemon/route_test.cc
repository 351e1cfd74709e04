#include "service/daemon/route.h"

#include <gtest/gtest.h>

namespace service {
namespace {

const config::Server kServer{.socket_path = "/h/run/holon.sock", .control_token = "t"};

TEST(Route, UsesTheSocketFirstAndTcpOnlyWhileTheDaemonRuns) {
    const auto both = choose_route(
        {.socket_accepts = true, .lock_held = true, .running_url = "http://127.0.0.1:1"}, kServer);
    ASSERT_TRUE(both);
    EXPECT_EQ(both->socket, "/h/run/holon.sock");
    EXPECT_EQ(both->url, "http://127.0.0.1:1");
    // The address in stale metadata leads nowhere, or to another program.
    const auto alone =
        choose_route({.socket_accepts = true, .running_url = "http://127.0.0.1:1"}, kServer);
    EXPECT_EQ(alone->url, "");
    const auto gone =
        choose_route({.lock_held = true, .running_url = "http://127.0.0.1:1"}, kServer);
    EXPECT_EQ(gone->socket, std::nullopt);
    EXPECT_EQ(gone->token, "t");
}

TEST(Route, TriesAnAddressOnlyWhenItIsConfiguredAndAccepts) {
    EXPECT_FALSE(choose_route({}, kServer));
    EXPECT_FALSE(choose_route({.named_url = "http://10.0.0.7:1"}, kServer));
    const auto named =
        choose_route({.named_url = "http://10.0.0.7:1", .named_answers = true}, kServer);
    EXPECT_EQ(named->url, "http://10.0.0.7:1");
}

}  // namespace
}  // namespace service
