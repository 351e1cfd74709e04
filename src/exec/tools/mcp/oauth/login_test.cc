// Logins at a real server (tests/mcp/oauth_server.py), which also is its authorization server.
#include "exec/tools/mcp/oauth/login.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/secrets.h"
#include "config/stored.h"
#include "exec/tools/mcp/oauth/listener.h"
#include "exec/tools/mcp/oauth/metadata.h"
#include "exec/tools/mcp/session.h"
#include "exec/tools/mcp/system_child.h"
#include "exec/tools/patch/folder_for_test.h"
#include "tests/mcp/script_server.h"
#include "tests/support/run_until.h"

namespace mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRedirect = "http://127.0.0.1:54321/redirect";

class McpLogin : public testing::Test {
protected:
    McpLogin() { ::signal(SIGPIPE, SIG_IGN); }

    base::Result<provider::HttpResponse> fetch(provider::HttpRequest request) {
        provider::HttpClient client(loop_, {.proxy = ""});
        std::optional<provider::HttpOutcome> outcome;
        if (patience_) request.timeouts.total = patience_;
        const auto exchange = client.send(std::move(request), {}, [&](provider::HttpOutcome ended) {
            outcome = std::move(ended);
        });
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return outcome.has_value(); }));
        if (!outcome || !*outcome) return base::fail(base::ErrorCode::Unavailable, "no answer");
        return **outcome;
    }
    Fetch fetcher() {
        return [this](provider::HttpRequest request) { return fetch(std::move(request)); };
    }

    base::Result<Prepared> prepare_at(const std::string& mode, const std::string& scope = "") {
        session_.reset();
        script_ = std::make_unique<test_support::ScriptServer>(HOLON_MCP_OAUTH_SERVER, mode);
        server_.name = "s";
        server_.url = script_->url() + "/mcp";
        return prepare(server_, scope, kRedirect, fetcher());
    }
    // What a browser of an operator who allows it would do: where it ends.
    std::string opened_in_browser(const Prepared& prepared) {
        const auto response =
            fetch({.url = prepared.authorization_url, .method = provider::HttpMethod::Get});
        const auto* location =
            response ? provider::find_header(response->headers, "Location") : nullptr;
        EXPECT_TRUE(location) << (response ? response->body : "");
        return location ? *location : "";
    }
    base::Result<Grant> log_in(const std::string& mode, const std::string& scope = "") {
        const auto prepared = TRY(prepare_at(mode, scope));
        auto grant = TRY(redeem(prepared, opened_in_browser(prepared), fetcher(), clock_.now()));
        TRY(save_grant(home_.path(), "s", grant));
        return grant;
    }
    std::string seen() {
        return fetch({.url = script_->url() + "/seen", .method = provider::HttpMethod::Get})
            .value()
            .body;
    }

    base::Status open() {
        session_.reset();
        children_.emplace(loop_, provider::HttpOptions{.proxy = ""});
        children_->use_logins(home_.path(), clock_);
        session_ = std::make_unique<Session>(SessionParts{.server = server_,
                                                          .loop = loop_,
                                                          .clock = clock_,
                                                          .children = *children_,
                                                          .boundary = boundary_,
                                                          .log_file = "/dev/null/x"});
        std::optional<base::Status> opened;
        session_->open([&](base::Status status) { opened = std::move(status); });
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return opened.has_value(); }));
        return opened.value_or(base::Status{});
    }
    std::string echo() {
        std::optional<Session::Answer> answered;
        const auto running = session_->call(
            "tools/call", {{"name", "echo"}, {"arguments", json::object{{"text", "hi"}}}}, 60s,
            [&](Session::Answer answer) { answered = std::move(answer); });
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return answered.has_value(); }));
        if (!answered) return "nothing";
        if (!*answered) return error_for(answered->error(), "s", "echo").message;
        return base::string_at((*answered)->at("content").at(0), "text");
    }

    base::AsioLoop loop_;
    base::SystemClock clock_;
    sandbox::Boundary boundary_;
    patch::TestFolder home_;
    std::optional<std::chrono::milliseconds> patience_;
    std::unique_ptr<test_support::ScriptServer> script_;
    config::McpServer server_;
    std::optional<SystemChildRunner> children_;
    std::unique_ptr<Session> session_;
};

TEST_F(McpLogin, AllHonestWaysEndInALoginThatTheServerTakes) {
    for (const char* mode : {"plain", "well_known", "openid", "old", "secret"}) {
        const auto grant = log_in(mode);
        ASSERT_TRUE(grant) << mode << ": " << grant.error().message;
        EXPECT_EQ(grant->resource, server_.url) << mode;
        EXPECT_TRUE(grant->refresh_token && grant->expires_at) << mode;
        const auto opened = open();
        ASSERT_TRUE(opened) << mode << ": " << opened.error().message;
        EXPECT_EQ(echo(), "hi") << mode;
    }
}

TEST_F(McpLogin, WithoutALoginTheErrorNamesTheCommand) {
    script_ = std::make_unique<test_support::ScriptServer>(HOLON_MCP_OAUTH_SERVER, "plain");
    server_ = {.name = "s", .url = script_->url() + "/mcp"};
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("holon mcp login s"));
}

TEST_F(McpLogin, AServerThatLiesGetsNothing) {
    struct Case {
        const char* mode;
        const char* says;
    };
    for (const auto& [mode, says] :
         {Case{"other_issuer", "another one"}, Case{"downgrade", "not reached by https"},
          Case{"redirect", "redirect"}, Case{"huge", "no answer"}, Case{"no_pkce", "PKCE"},
          Case{"other_resource", "another resource"}, Case{"no_registration", "oauth.client_id"}}) {
        const auto prepared = prepare_at(mode);
        ASSERT_FALSE(prepared) << mode;
        EXPECT_THAT(prepared.error().message, HasSubstr(says)) << mode;
    }
    for (const auto& [mode, says] :
         {Case{"other_iss", "another authorization server"},
          Case{"no_iss", "another authorization server"}, Case{"denied", "access_denied"},
          Case{"injection", "cannot be sent"}, Case{"no_json", "no token"}}) {
        const auto grant = log_in(mode);
        ASSERT_FALSE(grant) << mode;
        EXPECT_THAT(grant.error().message, HasSubstr(says)) << mode;
        EXPECT_THAT(grant.error().message, Not(HasSubstr("\033"))) << mode;
    }
    EXPECT_TRUE(config::read_credentials(home_.path()).value().profiles.empty());
}

TEST_F(McpLogin, MetadataThatDripsIsGivenUp) {
    patience_ = 300ms;
    const auto prepared = prepare_at("drip");
    ASSERT_FALSE(prepared);
    EXPECT_THAT(prepared.error().message, HasSubstr("no answer"));
}

TEST_F(McpLogin, AnAnswerThatBelongsToNoLoginIsRefused) {
    const auto prepared = prepare_at("plain");
    ASSERT_TRUE(prepared);
    auto other = *prepared;
    other.state += "x";
    const auto url = opened_in_browser(*prepared);
    EXPECT_FALSE(redeem(other, url, fetcher(), clock_.now()));
    // Nor may anybody else redeem the code: it is bound to the verifier.
    other = *prepared;
    other.verifier += "x";
    EXPECT_THAT(redeem(other, url, fetcher(), clock_.now()).error().message,
                HasSubstr("invalid_grant"));
}

TEST_F(McpLogin, ATokenThatHasEndedIsRenewedOnceAndForAll) {
    ASSERT_TRUE(log_in("short"));
    ASSERT_TRUE(open());
    const auto first = load_grant(home_.path(), "s").value();
    EXPECT_EQ(echo(), "hi");
    EXPECT_EQ(echo(), "hi");
    EXPECT_EQ(echo(), "hi");
    const auto last = load_grant(home_.path(), "s").value();
    EXPECT_NE(first->access_token, last->access_token);
    EXPECT_NE(first->refresh_token, last->refresh_token);
    EXPECT_EQ(seen(), R"(["authorization_code", "refresh_token", "refresh_token"])");
}

TEST_F(McpLogin, TwoThatRenewAtOnceDoNotStealFromEachOther) {
    ASSERT_TRUE(log_in("plain"));
    const auto old = load_grant(home_.path(), "s").value()->access_token;
    provider::HttpClient http(loop_, {.proxy = ""});
    Authorizer one(home_.path(), clock_, http), other(home_.path(), clock_, http);
    std::vector<std::string> tokens;
    const auto keep = [&](const base::Result<std::string>& token) {
        tokens.push_back(token ? *token : token.error().message);
    };
    one.token(server_, old, keep);
    other.token(server_, old, keep);
    ASSERT_TRUE(test_support::run_until(loop_, [&] { return tokens.size() == 2; }));
    EXPECT_EQ(tokens[0], tokens[1]);
    EXPECT_NE(tokens[0], old);
    EXPECT_EQ(seen(), R"(["authorization_code", "refresh_token"])");
}

TEST_F(McpLogin, ALoginThatCannotBeRenewedSaysWhatToDo) {
    ASSERT_TRUE(log_in("no_refresh"));
    ASSERT_TRUE(open());
    EXPECT_EQ(echo(), "hi");
    EXPECT_THAT(echo(), HasSubstr("log in again: holon mcp login s"));
}

TEST_F(McpLogin, AServerThatRefusesEveryTokenIsNotAskedForEver) {
    ASSERT_TRUE(log_in("loop"));
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("it refuses the login"));
    EXPECT_EQ(seen(), R"(["authorization_code", "refresh_token"])");
}

TEST_F(McpLogin, MoreRightsAreAskedForByName) {
    ASSERT_TRUE(log_in("scope"));
    ASSERT_TRUE(open());
    EXPECT_THAT(echo(), HasSubstr("holon mcp login s --scope 'tools:read tools:write'"));
    const auto prepared = prepare(server_, "tools:write", kRedirect, fetcher());
    ASSERT_TRUE(prepared);
    EXPECT_THAT(prepared->authorization_url, HasSubstr("scope=tools%3Awrite"));
}

TEST_F(McpLogin, ATokenIsSentToNoOtherAddress) {
    ASSERT_TRUE(log_in("plain"));
    server_.url += "?moved";
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("it wants a login"));
}

TEST_F(McpLogin, TokensAreKeptPrivatelyAndShownNowhere) {
    const auto grant = log_in("plain");
    ASSERT_TRUE(grant);
    EXPECT_THAT(scan::without_credentials("x " + grant->access_token + " y"),
                Not(HasSubstr(grant->access_token)));
    EXPECT_THAT(scan::without_credentials(*grant->refresh_token),
                Not(HasSubstr(*grant->refresh_token)));
    const auto status = std::filesystem::status(home_.path() / "credentials.json");
    EXPECT_EQ(status.permissions(), std::filesystem::perms(0600));
    revoke(*grant, fetcher());
    EXPECT_THAT(seen(), HasSubstr("revoke"));
    EXPECT_TRUE(remove_grant(home_.path(), "s").value());
    EXPECT_FALSE(load_grant(home_.path(), "s").value());
    EXPECT_FALSE(remove_grant(home_.path(), "s").value());
}

// What a visitor of the port reads back.
std::string visit(const std::string& redirect_uri, const std::string& target) {
    const auto port = std::stoi(redirect_uri.substr(redirect_uri.rfind(':') + 1));
    const base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    base::write_all(fd.get(), fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", target));
    std::string text(4096, '\0');
    const ssize_t size = ::recv(fd.get(), text.data(), text.size(), 0);
    return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

TEST(McpListener, TakesTheAnswerAndNothingElse) {
    auto listener = Listener::open(0);
    ASSERT_TRUE(listener);
    const auto uri = listener->redirect_uri();
    std::string wrong, elsewhere, right;
    std::jthread browser([&] {
        wrong = visit(uri, "/redirect?state=bad");
        elsewhere = visit(uri, "/favicon.ico");
        right = visit(uri, "/redirect?state=good&code=1");
    });
    const auto taken = listener->wait(
        -1, 60s, [](std::string_view url) { return url.contains("state=good"); }, [] {});
    browser.join();
    ASSERT_TRUE(taken);
    EXPECT_EQ(*taken, "/redirect?state=good&code=1");
    EXPECT_THAT(wrong, HasSubstr("404"));
    EXPECT_THAT(elsewhere, HasSubstr("404"));
    EXPECT_THAT(right, HasSubstr("200"));
}

TEST(McpListener, TakesAPastedAddressOfABrowserElsewhere) {
    auto listener = Listener::open(0);
    ASSERT_TRUE(listener);
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const base::Fd out(ends[0]);
    base::Fd in(ends[1]);
    base::write_all(in.get(),
                    "\nhttp://127.0.0.1:1/redirect?state=bad\n"
                    " http://127.0.0.1:1/redirect?state=good&code=1 \n");
    int refused = 0;
    const auto taken = listener->wait(
        out.get(), 60s, [](std::string_view url) { return url.contains("state=good"); },
        [&] { ++refused; });
    ASSERT_TRUE(taken);
    EXPECT_EQ(*taken, "http://127.0.0.1:1/redirect?state=good&code=1");
    EXPECT_EQ(refused, 1);
    // The end of the input is no answer, and waiting has an end.
    in.reset();
    EXPECT_FALSE(listener->wait(out.get(), 50ms, [](std::string_view) { return true; }, [] {}));
}

}  // namespace
}  // namespace mcp
