#include "service/daemon/access/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

config::Server configured(std::string token = "") {
    return {.http_addr = "127.0.0.1:7878",
            .socket_path = "/h/run/holon.sock",
            .control_token = std::move(token)};
}

std::string error_of(const ServeOptions& options, const config::Server& server = configured()) {
    const auto plan = resolve(options, server);
    return plan ? "" : plan.error().message;
}

TEST(Access, ListensOnLoopbackWithATokenOfItsOwnByDefault) {
    const auto plan = resolve({}, configured()).value();
    EXPECT_TRUE(plan.uses_own_token);
    EXPECT_FALSE(resolve({}, configured("t")).value().uses_own_token);
    EXPECT_EQ(plan.http_addr(), "127.0.0.1:7878");
    EXPECT_EQ(plan.auth_mode, config::AuthMode::Auto);
    EXPECT_EQ(plan.advertise_url, std::nullopt);
    EXPECT_EQ(plan.callback_base_url, "http://127.0.0.1:7878");
}

TEST(Access, ChoosesTheAddressByAccess) {
    const auto server = configured("t");
    const auto at = [&](const ServeOptions& options) {
        return resolve(options, server).value().http_addr();
    };
    EXPECT_EQ(at({.port = 9000}), "127.0.0.1:9000");
    EXPECT_EQ(at({.listen = "[::1]:9000"}), "[::1]:9000");
    EXPECT_EQ(at({.access = Access::Tunnel, .port = 9000}), "127.0.0.1:9000");
    EXPECT_EQ(at({.access = Access::Lan, .host = "10.0.0.7"}), "10.0.0.7:7878");
    EXPECT_EQ(at({.access = Access::Lan, .host = "10.0.0.7:9001"}), "10.0.0.7:9001");
    EXPECT_EQ(at({.access = Access::Tailnet, .host = "box.tail", .port = 9000}), "0.0.0.0:9000");
}

TEST(Access, AdvertisesWhatClientsCanCall) {
    const auto server = configured("t");
    const auto lan = resolve({.access = Access::Lan, .host = "box.local", .port = 9000}, server);
    EXPECT_EQ(lan->advertise_url, "http://box.local:9000");
    EXPECT_EQ(lan->callback_base_url, "http://box.local:9000");
    const auto resolved = resolve({.advertise = "https://h.example/#x"}, configured());
    EXPECT_EQ(resolved->advertise_url, "https://h.example");
    for (const char* bad : {"ftp://h", "https://", "https://h?x=1", "http://0.0.0.0:1", "h.example",
                            "http://[::]:1", "https://user@h"})
        EXPECT_THAT(error_of({.advertise = bad}), HasSubstr("--advertise")) << bad;
}

TEST(Access, RefusesToBeReachableWithoutAToken) {
    for (const auto& options :
         {ServeOptions{.listen = "0.0.0.0:7878"}, ServeOptions{.listen = "[::]:7878"},
          ServeOptions{.access = Access::Lan, .host = "10.0.0.7"},
          ServeOptions{.access = Access::Tailnet, .host = "127.0.0.1"}}) {
        EXPECT_THAT(error_of(options), HasSubstr("HOLON_CONTROL_TOKEN"));
        const auto plan = resolve(options, configured("t"));
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->auth_mode, config::AuthMode::Required);
    }
    auto disabled = configured();
    disabled.control_auth_mode = config::AuthMode::Disabled;
    EXPECT_THAT(error_of({.listen = "0.0.0.0:7878"}, disabled), HasSubstr("token"));
}

TEST(Access, DisablingTheTokenHoldsOnlyWhereNoOtherMachineIsAClient) {
    auto disabled = configured();
    disabled.control_auth_mode = config::AuthMode::Disabled;
    EXPECT_FALSE(resolve({}, disabled).value().uses_own_token);
    for (const auto& options :
         {ServeOptions{.access = Access::Tunnel}, ServeOptions{.advertise = "https://a.example"}}) {
        const auto plan = resolve(options, disabled).value();
        EXPECT_EQ(plan.auth_mode, config::AuthMode::Required);
        EXPECT_TRUE(plan.uses_own_token);
    }
}

TEST(Access, RefusesOptionsThatContradictEachOther) {
    EXPECT_THAT(error_of({.listen = "127.0.0.1:1", .port = 2}), HasSubstr("not both"));
    EXPECT_THAT(error_of({.token = "a", .token_file = "/x"}), HasSubstr("not both"));
    EXPECT_THAT(error_of({.access = Access::Lan}), HasSubstr("--host"));
    EXPECT_THAT(error_of({.listen = "example.org:80"}), HasSubstr("--listen"));
    EXPECT_THAT(error_of({.tls_cert = "/x"}), HasSubstr("--tls-key"));
    EXPECT_THAT(error_of({.token = "  "}), HasSubstr("blank"));
    EXPECT_THAT(error_of({.token_file = "/nowhere"}), HasSubstr("--token-file"));
}

TEST(Access, AViewerTokenRestrictsItsHolder) {
    auto server = configured("control");
    server.viewer_token = "viewer";
    const auto plan = resolve({}, server);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->viewer_token, "viewer");
    EXPECT_THAT(error_of({.token = "viewer"}, server), HasSubstr("must differ"));
    // By itself, next to the control token that the daemon makes.
    server.control_token.clear();
    const auto alone = resolve({}, server);
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_EQ(alone->viewer_token, "viewer");
    EXPECT_TRUE(alone->uses_own_token);
    server.control_auth_mode = config::AuthMode::Disabled;
    EXPECT_THAT(error_of({}, server), HasSubstr("HOLON_CONTROL_AUTH_MODE"));
}

TEST(Access, RefusesASocketPathThatTheKernelWouldCut) {
    auto server = configured();
    server.socket_path = "/" + std::string(120, 'x');
    EXPECT_THAT(error_of({}, server), HasSubstr("HOLON_SOCKET_PATH"));
}

TEST(Access, HandsAllButTheTokenOverAsArguments) {
    const ServeOptions options{.access = Access::Lan,
                               .host = "box",
                               .port = 9,
                               .advertise = "http://box",
                               .token = "secret",
                               .log_file = "/l"};
    EXPECT_THAT(arguments(options), ElementsAre("--access", "lan", "--host", "box", "--port", "9",
                                                "--advertise", "http://box", "--log-file", "/l"));
    EXPECT_THAT(base::json_text(base::to_json(recorded(options))),
                testing::Not(HasSubstr("secret")));
    EXPECT_EQ(arguments({}), std::vector<std::string>{});
}

}  // namespace
}  // namespace service
