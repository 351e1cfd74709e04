// WebFetch against a local server that redirects, drips, lies and answers too much. In these tests
// 127.0.0.1 plays the public web, and every other address is private.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <gmock/gmock.h>

#include "base/os/files.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/web_tools/web_tools.h"
#include "tests/support/fake_model_server.h"

namespace web_tools {
namespace {

using namespace std::chrono_literals;
using test_support::ServerReply;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

bool is_public_here(const Url&, const sockaddr& address, const config::WebFetch&) {
    return address.sa_family == AF_INET &&
           reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

ServerReply redirect(std::string location, int status = 302) {
    return {.status = status, .headers = {{"Location", std::move(location)}}};
}

ServerReply page(std::string body, std::string type = "text/html") {
    return {.body = std::move(body), .headers = {{"Content-Type", std::move(type)}}};
}

class WebFetchTest : public testing::Test {
protected:
    tools::Dispatched fetch(
        const std::string& url, json::object more = {},
        domain::AuthorityClass authority = domain::AuthorityClass::OperatorInstruction) {
        base::AsioLoop loop;
        tools::Registry registry;
        registry.add(web_fetch({.loop = loop,
                                .clock = clock_,
                                .settings = settings,
                                .http = {.resolved = resolved},
                                .may_connect = is_public ? is_public : decltype(is_public){}}));
        tools::Dispatcher dispatcher(
            {.registry = registry, .clock = clock_, .ids = ids_, .loop = &loop});
        more["url"] = url;
        const tools::ExecutionContext place{.agent_id = {"main"}, .agent_home = folder_.path()};
        const auto call = dispatcher.describe({.call_id = {"call-1"},
                                               .run_id = {"run-1"},
                                               .step_id = "round-1.1",
                                               .tool = "WebFetch",
                                               .args = more,
                                               .authority_class = authority},
                                              place);
        std::optional<tools::Dispatched> ended;
        const auto running = dispatcher.dispatch(call, domain::ProfilePreset::PublicNamed, place,
                                                 [&](tools::Dispatched dispatched) {
                                                     ended = std::move(dispatched);
                                                     loop.stop();
                                                 });
        if (running && cancel_at_once) loop.post([&] { running->cancel(); });
        while (!ended) loop.run();
        return std::move(*ended);
    }
    std::string kind_of(const std::string& url) {
        const auto fetched = fetch(url);
        return fetched.envelope.ok() ? "success" : fetched.envelope.error().kind;
    }
    std::string at(const std::string& path) {
        return fmt::format("http://127.0.0.1:{}{}", server.port(), path);
    }

    test_support::FakeModelServer server;
    config::WebFetch settings;
    std::vector<std::string> resolved;
    std::function<bool(const Url&, const sockaddr&, const config::WebFetch&)> is_public{
        is_public_here};
    bool cancel_at_once{false};
    patch::TestFolder folder_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
};

TEST_F(WebFetchTest, APageComesAsLabelledText) {
    server.enqueue(redirect("/b?c=d"));
    server.enqueue(page("<title>T</title><p>Hello <a href='/x'>you</a></p>"));
    const auto fetched = fetch(at("/a#part"));
    ASSERT_TRUE(fetched.envelope.ok()) << fetched.receipt;
    const json::value result(fetched.envelope.result());
    EXPECT_EQ(base::string_at(result, "url"), at("/a"));
    EXPECT_EQ(base::string_at(result, "final_url"), at("/b?c=d"));
    EXPECT_EQ(base::int_at(result, "status"), 200);
    EXPECT_EQ(base::string_at(result, "content_type"), "text/html");
    EXPECT_EQ(base::string_at(result, "source"), "local_http");
    EXPECT_EQ(base::string_at(result, "authority_class"), "external_evidence");
    EXPECT_EQ(base::string_at(result, "sha256").size(), 64u);
    EXPECT_FALSE(base::bool_at(result, "truncated", true));
    EXPECT_THAT(
        base::string_at(result, "text"),
        AllOf(HasSubstr("<external_content source=\"" + at("/b?c=d")),
              HasSubstr("T\n\nHello [you](" + at("/x") + ")"), HasSubstr("untrusted data")));
    EXPECT_THAT(fetched.receipt, HasSubstr("Hello"));
    // It names itself and sends nothing else of the runtime.
    const auto request = server.requests().back();
    EXPECT_THAT(request.headers.at("user-agent"), HasSubstr("holon/"));
    EXPECT_FALSE(request.headers.contains("authorization"));
    EXPECT_FALSE(request.headers.contains("cookie"));
}

TEST_F(WebFetchTest, AnyStatusButARedirectIsAResult) {
    server.enqueue({.status = 404, .body = "gone", .headers = {{"Content-Type", "text/plain"}}});
    const auto fetched = fetch(at("/a"));
    ASSERT_TRUE(fetched.envelope.ok());
    EXPECT_EQ(base::int_at(fetched.envelope.result(), "status"), 404);
    EXPECT_THAT(fetched.receipt, HasSubstr("gone"));
}

TEST_F(WebFetchTest, EveryHopIsChecked) {
    // Each redirect leads where the first URL could not.
    for (const std::string& location :
         {std::string("http://127.0.0.2:1/"), std::string("http://[::1]:1/"),
          std::string("http://169.254.169.254/latest/meta-data/"),
          std::string("http://metadata.google.internal/"),
          std::string("//localhost.localdomain.invalid.:1@127.0.0.2/")}) {
        server.enqueue(redirect(location));
        EXPECT_THAT(kind_of(at("/a")),
                    testing::AnyOf("network_denied", "invalid_redirect_location"))
            << location;
    }
    settings.denied_hosts = {"denied.example"};
    server.enqueue(redirect("https://denied.example/"));
    EXPECT_EQ(kind_of(at("/a")), "network_denied");
}

// A name server that answers differently each time gains nothing: the address of the connection
// itself is judged.
TEST_F(WebFetchTest, ANameThatLeadsToAPrivateAddressIsRefusedAtTheConnection) {
    resolved = {fmt::format("moved.example:{}:127.0.0.2", server.port()),
                fmt::format("both.example:{}:127.0.0.2,127.0.0.1", server.port())};
    server.enqueue(redirect(fmt::format("http://moved.example:{}/", server.port())));
    EXPECT_EQ(kind_of(at("/a")), "network_denied");
    EXPECT_EQ(server.request_count(), 1u);
    // Of several addresses only the public one is used.
    server.enqueue(page("ok"));
    EXPECT_EQ(kind_of(fmt::format("http://both.example:{}/", server.port())), "success");
}

TEST_F(WebFetchTest, TheRealRulesRefuseThisMachineUnlessTheOperatorNamesIt) {
    is_public = {};
    server.always(page("local"));
    EXPECT_EQ(kind_of(at("/")), "network_denied");
    EXPECT_EQ(kind_of(fmt::format("http://localhost:{}/", server.port())), "network_denied");
    EXPECT_EQ(server.request_count(), 0u);
    settings.allowed_hosts = {fmt::format("127.0.0.1:{}", server.port())};
    EXPECT_EQ(kind_of(at("/")), "success");
    EXPECT_EQ(kind_of("https://example.com/"), "network_denied");
}

TEST_F(WebFetchTest, RedirectsAreBoundedAndMustLeadSomewhere) {
    settings.max_redirects = 2;
    server.always(redirect("/again"));
    EXPECT_EQ(kind_of(at("/a")), "too_many_redirects");
    EXPECT_EQ(server.request_count(), 3u);
    server.enqueue({.status = 301, .headers = {}});
    EXPECT_EQ(kind_of(at("/a")), "redirect_without_location");
    server.enqueue(redirect("file:///etc/passwd"));
    EXPECT_EQ(kind_of(at("/a")), "invalid_redirect_location");
}

TEST_F(WebFetchTest, ABodyBeyondTheBoundIsCut) {
    settings.max_response_bytes = 1000;
    server.enqueue(page(std::string(500'000, 'x'), "text/plain"));
    const auto fetched = fetch(at("/a"));
    ASSERT_TRUE(fetched.envelope.ok()) << fetched.receipt;
    EXPECT_EQ(base::int_at(fetched.envelope.result(), "bytes_read"), 1000);
    EXPECT_TRUE(base::bool_at(fetched.envelope.result(), "truncated"));
}

TEST_F(WebFetchTest, TextBeyondTheBoundIsKeptAsAnArtifact) {
    server.enqueue(page(std::string(50'000, 'x'), "text/plain"));
    const auto fetched = fetch(at("/a"), {{"max_chars", 100}});
    ASSERT_TRUE(fetched.envelope.ok()) << fetched.receipt;
    const json::value result(fetched.envelope.result());
    EXPECT_LT(base::string_at(result, "text").size(), 600u);
    EXPECT_TRUE(base::bool_at(result, "truncated"));
    const std::string path = base::string_at(result.at("artifacts").at(0), "path");
    EXPECT_EQ(base::read_file(path, 100'000)->size(), 50'000u);
}

TEST_F(WebFetchTest, WhatIsNoTextIsAnArtifact) {
    server.enqueue(page(std::string("\x89PNG\0\x01", 6), "image/png"));
    const auto fetched = fetch(at("/a"));
    ASSERT_TRUE(fetched.envelope.ok()) << fetched.receipt;
    EXPECT_THAT(fetched.receipt, AllOf(HasSubstr("6 bytes of image/png"), HasSubstr("artifact")));
}

TEST_F(WebFetchTest, AServerThatDripsOrLiesIsGivenUp) {
    settings.timeout_seconds = 1;
    server.enqueue({.body = std::string(1000, 'x'), .drip_bytes = 1, .drip_pause = 100ms});
    const auto dripped = fetch(at("/drip"));
    ASSERT_FALSE(dripped.envelope.ok());
    EXPECT_EQ(dripped.envelope.error().kind, "tool_execution_failed");
    EXPECT_TRUE(dripped.envelope.error().retryable);
    EXPECT_EQ(dripped.result.status, domain::ResultStatus::Timeout);
    server.enqueue(test_support::hangs());
    EXPECT_EQ(kind_of(at("/hang")), "tool_execution_failed");
    server.enqueue(test_support::resets());
    EXPECT_EQ(kind_of(at("/reset")), "tool_execution_failed");
    // It promises more than it sends.
    server.enqueue({.body = std::string(1000, 'x'), .truncate_after = 10});
    EXPECT_EQ(kind_of(at("/short")), "tool_execution_failed");
}

TEST_F(WebFetchTest, SettingsAndUrlsAreJudgedBeforeAnythingIsSent) {
    for (const char* url : {"example.com", "ftp://example.com/", "https://me:pw@example.com/"})
        EXPECT_EQ(kind_of(url), "invalid_url") << url;
    settings.enabled = false;
    EXPECT_EQ(kind_of(at("/")), "web_fetch_disabled");
    EXPECT_EQ(server.request_count(), 0u);
}

TEST_F(WebFetchTest, ACallCanBeCancelled) {
    server.always(test_support::hangs());
    cancel_at_once = true;
    EXPECT_EQ(fetch(at("/")).result.status, domain::ResultStatus::Cancelled);
}

// A URL can take data away: untrusted input must not choose where it goes.
TEST_F(WebFetchTest, ExternalInputAloneMayReachListedHostsOnly) {
    server.always(page("ok"));
    const auto evidence = domain::AuthorityClass::ExternalEvidence;
    const auto refused = fetch(at("/?secret"), {}, evidence);
    ASSERT_FALSE(refused.envelope.ok());
    EXPECT_EQ(refused.envelope.error().kind, "untrusted_instructions");
    EXPECT_EQ(server.request_count(), 0u);
    settings.allowed_hosts = {"127.0.0.1"};
    EXPECT_TRUE(fetch(at("/"), {}, evidence).envelope.ok());
}

}  // namespace
}  // namespace web_tools
