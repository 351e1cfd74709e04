#include "service/daemon/route.h"

#include <gtest/gtest.h>

namespace service {
namespace {

const config::Server kServer{
    .is_http_addr_set = true, .socket_path = "/h/run/holon.sock", .control_token = "t"};

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

TEST(Route, SendsATokenOverTcpOnlyToAnAddressThatTheOperatorNamed) {
    const RouteFacts facts{
        .lock_held = true, .running_url = "http://127.0.0.1:1", .own_token = "own"};
    auto server = kServer;
    server.is_http_addr_set = false;
    EXPECT_EQ(choose_route(facts, server)->token, "");
    auto beside_socket = facts;
    beside_socket.socket_accepts = true;
    EXPECT_EQ(choose_route(beside_socket, server)->token, "");
    server.control_token.clear();
    EXPECT_EQ(choose_route(facts, server)->token, "");
    server.is_http_addr_set = true;
    EXPECT_EQ(choose_route(facts, server)->token, "own");
    // What is configured takes precedence.
    EXPECT_EQ(choose_route(facts, kServer)->token, "t");
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
