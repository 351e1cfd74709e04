// The same server behind TLS, with a certificate made for the test.
#include <netdb.h>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <gmock/gmock.h>

#include "tests/http/fixture.h"

namespace test_http {
namespace {

using testing::HasSubstr;

template <auto free>
struct Free {
    template <class T>
    void operator()(T* object) const {
        free(object);
    }
};

// A self-signed certificate and its key, as files.
void make_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key) {
    const std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>> pair(EVP_EC_gen("P-256"));
    const std::unique_ptr<X509, Free<X509_free>> x509(X509_new());
    ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
    X509_set_pubkey(x509.get(), pair.get());
    X509_NAME* name = X509_get_subject_name(x509.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(x509.get(), name);
    X509_sign(x509.get(), pair.get(), EVP_sha256());
    FILE* out = std::fopen(certificate.c_str(), "w");
    PEM_write_X509(out, x509.get());
    std::fclose(out);
    out = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(out, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
}

class Tls : public ServerTest {
protected:
    void SetUp() override {
        make_certificate(folder_ / "cert.pem", folder_ / "key.pem");
        start({.tls = http_surface::TlsFiles{folder_ / "cert.pem", folder_ / "key.pem"}});
    }
};

TEST_F(Tls, AnswersAndStreamsOverTls) {
    auto client = tcp();
    const std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>> context(SSL_CTX_new(TLS_client_method()));
    const std::unique_ptr<SSL, Free<SSL_free>> ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), client.fd());
    ASSERT_EQ(SSL_connect(ssl.get()), 1);
    const auto ask = [&](const std::string& bytes, std::string_view until) {
        SSL_write(ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
        std::string got;
        std::array<char, 4096> buffer;
        while (got.find(until) == std::string::npos) {
            const int size = SSL_read(ssl.get(), buffer.data(), buffer.size());
            if (size <= 0) break;
            got.append(buffer.data(), static_cast<std::size_t>(size));
        }
        return got;
    };
    EXPECT_THAT(ask(get("/healthz"), R"({"ok":true})"), HasSubstr("200 OK"));
    service_.add_events("main", 2);
    const auto stream = ask(get("/agents/main/events/stream?after_seq=0"), "id: 2\n");
    EXPECT_THAT(stream, HasSubstr("id: 1\n"));
    EXPECT_THAT(stream, HasSubstr("id: 2\n"));
}

TEST_F(Tls, HangsUpOnPlainTextAndLeavesTheSocketPlain) {
    auto plain = tcp();
    plain.send(get("/healthz"));
    EXPECT_EQ(plain.receive().status, 0);
    EXPECT_EQ(local().ask(get("/healthz")).status, 200);
}

TEST_F(Tls, RefusesToStartWithoutAUsableCertificate) {
    const auto started =
        Server::start({.service = service_, .settings = settings_, .clock = clock_},
                      {.tcp = {{.port = 0}},
                       .tls = http_surface::TlsFiles{folder_ / "key.pem", folder_ / "cert.pem"}});
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().message, HasSubstr("key.pem"));
}

}  // namespace
}  // namespace test_http
