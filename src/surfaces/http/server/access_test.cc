// Who may ask, over real listeners.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include <gmock/gmock.h>

#include "surfaces/http/server/access.h"
#include "tests/http/fixture.h"
#include "tests/support/skip.h"

namespace test_http {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string with_token(std::string_view method, std::string_view path, std::string_view token) {
    return request(method, path, {{"Authorization", "Bearer " + std::string(token)}});
}

class AccessTest : public ServerTest {
protected:
    int status_of(const std::string& bytes) { return tcp().ask(bytes).status; }
};

TEST_F(AccessTest, AConfiguredTokenIsEnforcedOnLoopback) {
    start({.token = "right"});
    const auto absent = tcp().ask(get("/status"));
    EXPECT_EQ(absent.status, 401);
    EXPECT_THAT(absent.headers.at("www-authenticate"), HasSubstr("Bearer"));
    EXPECT_EQ(absent.json().at("code"), "unauthorized");
    const auto wrong = tcp().ask(with_token("GET", "/status", "wrong"));
    EXPECT_EQ(wrong.status, 403);
    EXPECT_FALSE(wrong.headers.contains("www-authenticate"));
    EXPECT_EQ(status_of(with_token("GET", "/status", "right")), 200);
    EXPECT_EQ(status_of(with_token("GET", "/status", "right ")),
              200);  // Trailing space is trimmed.
    EXPECT_EQ(status_of(with_token("GET", "/status", "rightx")), 403);
    EXPECT_EQ(status_of(request("GET", "/status", {{"Authorization", "bearer right"}})), 403);
    EXPECT_EQ(status_of(request("GET", "/status?token=right")), 401);
    EXPECT_EQ(tcp().ask(with_token("GET", "/handshake", "right")).json().at("auth"),
              (json::value{{"mode", "bearer"}, {"required", true}}));
}

TEST_F(AccessTest, TheTokenIsCheckedBeforeTheBodyIsRead) {
    start({.token = "right"});
    auto client = tcp();
    // The head alone, with a body announced that never comes.
    const auto answer = client.ask(
        "POST /control/agents/main/prompt HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: nonsense\r\nContent-Length: 1000\r\n\r\n");
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_THAT(service_.calls(), IsEmpty());
}

TEST_F(AccessTest, AnAuthenticatedCallerIsKnownAsOne) {
    start({.token = "right"});
    tcp().ask(request("POST", "/control/agents/main/prompt",
                      {{"Authorization", "Bearer right"}, {"Content-Type", "application/json"}},
                      R"({"text":"x"})"));
    EXPECT_EQ(service_.last_caller()->admission, domain::AdmissionContext::ControlAuthenticated);
}

TEST_F(AccessTest, TheSocketNeedsNoTokenAndBelongsToItsOwner) {
    start({.token = "right"});
    EXPECT_EQ(local().ask(get("/status")).status, 200);
    struct stat found{};
    ASSERT_EQ(::stat(socket_path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);
}

// The mode of the socket may have been changed; what the kernel says of the peer still holds.
TEST_F(AccessTest, TheSocketIsForItsOwnerAndRoot) {
    http_surface::Access access({.owner = 1000}, clock_);
    const auto admits = [&](http_surface::Guard guard, std::optional<std::uint32_t> uid) {
        return std::holds_alternative<http_surface::Rights>(
            access.admit(guard, {}, {.key = "unix", .is_unix = true, .uid = uid}));
    };
    EXPECT_TRUE(admits(http_surface::Guard::Token, 1000));
    EXPECT_TRUE(admits(http_surface::Guard::Token, 0));
    EXPECT_FALSE(admits(http_surface::Guard::Token, 1001));
    EXPECT_FALSE(admits(http_surface::Guard::Token, std::nullopt));
    EXPECT_TRUE(admits(http_surface::Guard::Open, 1001));
}

TEST_F(AccessTest, AnotherUserIsRefusedOnASocketThatEveryoneCanOpen) {
    if (::geteuid() != 0) HOLON_SKIP("needs root to act as another user");
    start();
    ASSERT_EQ(::chmod(socket_path().c_str(), 0666), 0);
    std::filesystem::permissions(socket_path().parent_path(), std::filesystem::perms(0755));
    int refused = 0;
    int health = 0;
    // The bare system call changes this thread only.
    std::thread other([&] {
        constexpr long kNobody = 65534;
        ASSERT_EQ(::syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
        refused = local().ask(get("/status")).status;
        health = local().ask(get("/healthz")).status;
    });
    other.join();
    EXPECT_EQ(refused, 403);
    EXPECT_EQ(health, 200);
    EXPECT_EQ(local().ask(get("/status")).status, 200);
}

TEST_F(AccessTest, AWriteOverTcpNeedsTheJsonContentTypeWhateverItsOrigin) {
    start();
    const auto shutdown = [&](std::vector<std::pair<std::string, std::string>> headers) {
        return tcp().ask(request("POST", "/control/runtime/shutdown", std::move(headers))).status;
    };
    const std::pair<std::string, std::string> origin{"Origin", "http://localhost:3000"};
    EXPECT_EQ(shutdown({}), 415);
    EXPECT_EQ(shutdown({origin}), 415);
    EXPECT_EQ(shutdown({origin, {"Content-Type", "application/x-www-form-urlencoded"}}), 415);
    EXPECT_EQ(shutdown({origin, {"Content-Type", "text/plain"}}), 415);
    EXPECT_EQ(shutdowns_, 0);
    EXPECT_EQ(shutdown({{"Content-Type", "application/json"}}), 200);
    EXPECT_EQ(shutdowns_, 1);
}

TEST_F(AccessTest, RequiredWithoutATokenRefusesEverything) {
    start({.auth_mode = http_surface::AuthMode::Required});
    EXPECT_EQ(status_of(get("/status")), 401);
    EXPECT_EQ(status_of(with_token("GET", "/status", "")), 403);
    EXPECT_EQ(status_of(with_token("GET", "/status", "any")), 403);
}

TEST_F(AccessTest, DisabledRequiresNoToken) {
    start({.auth_mode = http_surface::AuthMode::Disabled, .token = "right"});
    EXPECT_EQ(status_of(get("/status")), 200);
}

TEST_F(AccessTest, OpenRoutesAndCapabilitiesNeedNoToken) {
    start({.token = "right"});
    EXPECT_EQ(status_of(get("/healthz")), 200);
    EXPECT_EQ(status_of(post("/webhooks/wh_right", "{}")), 200);
    EXPECT_EQ(status_of(request("POST", "/callbacks/wake/cb_right")), 200);
    EXPECT_EQ(status_of(get("/metrics")), 401);
    EXPECT_EQ(status_of(get("/openapi.json")), 401);
}

TEST_F(AccessTest, GuessingIsSlowedDown) {
    start({.token = "right", .limits = {.auth_failures = 3}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(with_token("GET", "/status", "guess")), 403);
    const auto blocked = tcp().ask(with_token("GET", "/status", "guess"));
    EXPECT_EQ(blocked.status, 429);
    EXPECT_GT(std::stoi(blocked.headers.at("retry-after")), 0);
    // Wrong tokens of any local user must not lock the operator out.
    EXPECT_EQ(status_of(with_token("GET", "/status", "right")), 200);
    EXPECT_EQ(status_of(with_token("GET", "/status", "guess")), 429);
    EXPECT_EQ(local().ask(get("/status")).status, 200);
}

TEST_F(AccessTest, ARequestWithoutATokenIsNoGuess) {
    start({.token = "right", .limits = {.auth_failures = 1}});
    for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(get("/status")), 401);
    EXPECT_EQ(status_of(with_token("GET", "/status", "right")), 200);
}

// contract: EVENT-12, EVENT-22
TEST_F(AccessTest, AViewerSeesTheAgentButNotItsHistory) {
    start({.token = "right", .viewer_token = "viewer"});
    service_.add_events("main", 5);
    EXPECT_EQ(status_of(with_token("GET", "/status", "viewer")), 200);
    for (const auto* path : {"/agents/main/events", "/agents/main/events/stream?after_seq=0",
                             "/transcript", "/briefs"}) {
        const auto refused = tcp().ask(with_token("GET", path, "viewer"));
        EXPECT_EQ(refused.status, 403) << path;
        EXPECT_EQ(refused.json().at("code"), "replay_not_allowed");
    }
    EXPECT_EQ(
        tcp().ask(with_token("POST", "/control/runtime/shutdown", "viewer")).json().at("code"),
        "view_only");
    EXPECT_EQ(shutdowns_, 0);
    // What happens from now on may be shown.
    auto live = tcp();
    live.send(with_token("GET", "/agents/main/events/stream", "viewer"));
    EXPECT_THAT(live.read_until("\r\n\r\n"), HasSubstr("200 OK"));
    service_.add_events("main", 1);
    EXPECT_THAT(live.read_until("\n\n"), HasSubstr("id: 6\n"));
    // A client that may replay gets events of every visibility.
    EXPECT_EQ(tcp()
                  .ask(with_token("GET", "/agents/main/events", "right"))
                  .json()
                  .at("events")
                  .as_array()
                  .size(),
              6U);
}

TEST_F(AccessTest, PagesOfOtherSitesCannotReachAnUnprotectedListener) {
    start({.allowed_hosts = {"h.example"}});
    const auto code = [&](std::string_view host, std::string_view origin) {
        std::string bytes = fmt::format("GET /status HTTP/1.1\r\nHost: {}\r\n", host);
        if (!origin.empty()) bytes += fmt::format("Origin: {}\r\n", origin);
        const auto answer = tcp().ask(bytes + "\r\n");
        return answer.status == 200 ? "ok" : base::string_at(answer.json(), "code");
    };
    EXPECT_EQ(code("localhost:7878", ""), "ok");
    EXPECT_EQ(code("127.0.0.1", "http://localhost:3000"), "ok");
    EXPECT_EQ(code("[::1]:7878", ""), "ok");
    EXPECT_EQ(code("H.Example", "https://h.example"), "ok");
    EXPECT_EQ(code("evil.example", ""), "host_not_allowed");
    EXPECT_EQ(code("localhost.evil.example", ""), "host_not_allowed");
    EXPECT_EQ(code("127.0.0.1.evil.example", ""), "host_not_allowed");
    EXPECT_EQ(code("localhost", "https://evil.example"), "origin_not_allowed");
    EXPECT_EQ(code("localhost", "null"), "origin_not_allowed");
    EXPECT_EQ(tcp().ask("GET /status HTTP/1.1\r\n\r\n").status, 403);
}

TEST_F(AccessTest, ATokenMakesTheHostUnimportant) {
    start({.token = "right"});
    EXPECT_EQ(tcp()
                  .ask("GET /status HTTP/1.1\r\nHost: any.example\r\n"
                       "Authorization: Bearer right\r\n\r\n")
                  .status,
              200);
}

TEST_F(AccessTest, ASocketThatIsInUseIsLeftAlone) {
    start();
    auto second = Server::start({.service = service_, .settings = settings_, .clock = clock_},
                                {.socket_path = socket_path()});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, base::ErrorCode::Conflict);
    EXPECT_EQ(local().ask(get("/healthz")).status, 200);
    // A file that is no socket stays, too.
    const auto file = folder_ / "file";
    ASSERT_TRUE(base::write_file_atomic(file, "mine", 0600));
    EXPECT_FALSE(Server::start({.service = service_, .settings = settings_, .clock = clock_},
                               {.socket_path = file}));
    EXPECT_EQ(base::read_file(file, 100), "mine");
}

TEST_F(AccessTest, AStaleSocketIsReplacedAndOursIsRemoved) {
    start();
    // What a killed process leaves: a socket file that nobody listens at.
    const auto stale = folder_ / "stale.sock";
    std::filesystem::create_hard_link(socket_path(), stale);
    server_.reset();
    EXPECT_FALSE(std::filesystem::exists(socket_path()));
    std::filesystem::rename(stale, socket_path());
    start();
    EXPECT_EQ(local().ask(get("/healthz")).status, 200);
}

}  // namespace
}  // namespace test_http
