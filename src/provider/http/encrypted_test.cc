// TLS, HTTP/2 and proxies, over loopback.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/http/http_client.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/relays.h"
#include "tests/support/run_until.h"
#include "tests/support/skip.h"

namespace provider {
namespace {

using test_support::FakeModelServer;
using test_support::ForwardProxy;
using test_support::run_until;
using test_support::SelfMadeCertificate;
using test_support::TlsFront;
using testing::ElementsAre;
using testing::HasSubstr;

class EncryptedTest : public testing::Test {
protected:
    EncryptedTest() {
        std::signal(SIGPIPE, SIG_IGN);  // As the program does.
        server.always(test_support::says("hello"));
    }

    HttpOutcome send(const std::string& url, HttpOptions options) {
        HttpClient client(loop, std::move(options));
        std::optional<HttpOutcome> outcome;
        const auto exchange =
            client.send({.url = url, .headers = {{"X-Key", "k"}}, .body = "{}"}, {},
                        [&](HttpOutcome given) { outcome = std::move(given); });
        EXPECT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
        return std::move(*outcome);
    }

    SelfMadeCertificate certificate;
    FakeModelServer server;
    base::AsioLoop loop;
};

TEST_F(EncryptedTest, ACertificateIsTrustedOnlyIfItsFileIsGiven) {
    TlsFront front(certificate, server.port());
    const auto trusted = send(front.base_url() + "/v1",
                              {.proxy = "", .ca_file = certificate.certificate().string()});
    ASSERT_TRUE(trusted.has_value()) << trusted.error().message;
    EXPECT_EQ(trusted->status, 200);
    EXPECT_THAT(trusted->body, HasSubstr("hello"));
    ASSERT_EQ(server.request_count(), 1U);

    const auto untrusted = send(front.base_url() + "/v1", {.proxy = ""});
    ASSERT_FALSE(untrusted.has_value());
    EXPECT_EQ(untrusted.error().kind, FailureKind::Connection);
    EXPECT_THAT(untrusted.error().message, HasSubstr("no trusted TLS connection"));
    EXPECT_EQ(server.request_count(), 1U) << "nothing is sent before the server is trusted";

    const SelfMadeCertificate other;
    EXPECT_FALSE(
        send(front.base_url() + "/v1", {.proxy = "", .ca_file = other.certificate().string()})
            .has_value());
    const auto misnamed = send(fmt::format("https://localhost:{}/v1", front.port()),
                               {.proxy = "", .ca_file = certificate.certificate().string()});
    ASSERT_FALSE(misnamed.has_value()) << "the certificate is for 127.0.0.1 only";
    EXPECT_THAT(misnamed.error().message, HasSubstr("no trusted TLS connection"));
    EXPECT_EQ(server.request_count(), 1U);
}

TEST_F(EncryptedTest, APlainRequestGoesThroughTheProxyWithItsWholeUrl) {
    ForwardProxy proxy;
    const std::string url = server.base_url() + "/v1";
    const auto outcome = send(url, {.proxy = proxy.url()});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_THAT(proxy.asked(), ElementsAre("POST " + url + " HTTP/1.1"));
    EXPECT_EQ(server.requests().at(0).path, "/v1");
}

TEST_F(EncryptedTest, AnEncryptedRequestIsTunnelledSoThatTheProxySeesNothing) {
    ForwardProxy proxy;
    TlsFront front(certificate, server.port());
    const auto outcome =
        send(front.base_url() + "/v1",
             {.proxy = proxy.url(), .ca_file = certificate.certificate().string()});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->status, 200) << "not that of the tunnel";
    EXPECT_THAT(proxy.asked(),
                ElementsAre(fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1", front.port())));
    EXPECT_EQ(server.requests().at(0).headers.at("x-key"), "k");
}

TEST_F(EncryptedTest, TheProxyOfTheEnvironmentIsUsedUnlessTheHostIsExcepted) {
    ForwardProxy proxy;
    TlsFront front(certificate, server.port());
    const HttpOptions from_environment{.ca_file = certificate.certificate().string()};
    setenv("HTTPS_PROXY", proxy.url().c_str(), 1);
    setenv("http_proxy", proxy.url().c_str(), 1);
    unsetenv("no_proxy");
    unsetenv("NO_PROXY");
    EXPECT_TRUE(send(front.base_url(), from_environment).has_value());
    EXPECT_TRUE(send(server.base_url(), from_environment).has_value());
    EXPECT_EQ(proxy.asked().size(), 2U);
    setenv("NO_PROXY", "127.0.0.1", 1);
    EXPECT_TRUE(send(front.base_url(), from_environment).has_value());
    EXPECT_EQ(proxy.asked().size(), 2U);
    for (const char* name : {"HTTPS_PROXY", "http_proxy", "NO_PROXY"}) unsetenv(name);
}

TEST_F(EncryptedTest, AProxyThatIsNotThereIsAConnectFailure) {
    const auto outcome = send(server.base_url(), {.proxy = "http://127.0.0.1:1"});
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().kind, FailureKind::Connection);
    EXPECT_TRUE(outcome.error().diagnostics->reqwest->is_connect);
}

// nghttpx of the package nghttp2-proxy, before our plain server; ended with this.
class Http2Front {
public:
    Http2Front(const SelfMadeCertificate& certificate, int upstream_port) {
        // A port that was free a moment ago: nghttpx does not report which one it took.
        port_ = FakeModelServer().port();
        const std::string frontend = fmt::format("--frontend=127.0.0.1,{}", port_);
        const std::string backend = fmt::format("--backend=127.0.0.1,{}", upstream_port);
        pid_ = fork();
        if (pid_ != 0) return;
        execlp("nghttpx", "nghttpx", "--conf=/dev/null", "--workers=1", "--errorlog-file=/dev/null",
               frontend.c_str(), backend.c_str(), certificate.key().c_str(),
               certificate.certificate().c_str(), nullptr);
        _exit(127);
    }
    ~Http2Front() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Http2Front(const Http2Front&) = delete;
    Http2Front& operator=(const Http2Front&) = delete;
    std::string base_url() const { return fmt::format("https://127.0.0.1:{}", port_); }

private:
    int port_{0};
    pid_t pid_{-1};
};

TEST_F(EncryptedTest, Http2IsSpokenWhereItIsOffered) {
    if (std::system("command -v nghttpx >/dev/null") != 0)
        HOLON_SKIP("nghttpx (package nghttp2-proxy) is not installed: HTTP/2 is untested");
    const Http2Front front(certificate, server.port());
    const HttpOptions options{.proxy = "", .ca_file = certificate.certificate().string()};
    // It listens a moment after it was started; there is no event to wait for.
    std::optional<HttpOutcome> outcome;
    ASSERT_TRUE(test_support::eventually([&] {
        outcome = send(front.base_url() + "/v1", options);
        return outcome->has_value();
    })) << outcome->error().message;
    EXPECT_EQ((*outcome)->status, 200);
    EXPECT_THAT((*outcome)->body, HasSubstr("hello"));
    // nghttpx says which version the client spoke.
    EXPECT_THAT(server.requests().back().headers.at("via"), HasSubstr("2 nghttpx"));
}

}  // namespace
}  // namespace provider
