#include "tests/support/relays.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>

#include "base/text.h"

namespace test_support {
namespace {

constexpr std::size_t kHeadBytesMax = 64 * 1024;

template <auto Free>
struct Freeing {
    template <class T>
    void operator()(T* held) const {
        Free(held);
    }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<X509_free>>;
using File = std::unique_ptr<std::FILE, Freeing<std::fclose>>;

base::Fd connect_to(int port) {
    base::Fd server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address{.sin_family = AF_INET,
                              .sin_port = htons(static_cast<std::uint16_t>(port)),
                              .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    if (connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        server.reset();
    return server;
}

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void add_extension(X509* certificate, int id, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
    CHECK(extension != nullptr, "a certificate extension");
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

Certificate certificate_for(EVP_PKEY* key) {
    constexpr long kValidSeconds = 24L * 3600;
    Certificate certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kValidSeconds);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kValidSeconds);
    X509_set_pubkey(certificate.get(), key);
    X509_NAME* name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1");
    CHECK(X509_sign(certificate.get(), key, EVP_sha256()) > 0, "the certificate signs itself");
    return certificate;
}

}  // namespace

SelfMadeCertificate::SelfMadeCertificate() {
    std::string name = (std::filesystem::temp_directory_path() / "certificate-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr, "no folder for a certificate");
    folder_ = name;
    const Key key(EVP_EC_gen("P-256"));
    const File key_file(std::fopen(this->key().c_str(), "w"));
    const File certificate_file(std::fopen(certificate().c_str(), "w"));
    CHECK(PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
          "the key can be written");
    CHECK(PEM_write_X509(certificate_file.get(), certificate_for(key.get()).get()),
          "the certificate can be written");
}

SelfMadeCertificate::~SelfMadeCertificate() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

Acceptor::Acceptor()
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), stop_(eventfd(0, EFD_CLOEXEC)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    CHECK(bind(listener_.get(), generic, size) == 0 && listen(listener_.get(), SOMAXCONN) == 0 &&
              getsockname(listener_.get(), generic, &size) == 0,
          "no loopback port to bind");
    port_ = ntohs(address.sin_port);
}

Acceptor::~Acceptor() = default;

bool Acceptor::wait_readable(int first, int second) const {
    std::array<pollfd, 3> waits{
        {{stop_.get(), POLLIN, 0}, {first, POLLIN, 0}, {second, POLLIN, 0}}};
    return poll(waits.data(), waits.size(), -1) > 0 && waits[0].revents == 0;
}

void Acceptor::start() {
    acceptor_ = std::jthread([this] {
        while (wait_readable(listener_.get(), -1)) {
            base::Fd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!client) return;
            connections_.emplace_back(
                [this, client = std::move(client)]() mutable { serve(std::move(client)); });
        }
    });
}

void Acceptor::stop() {
    eventfd_write(stop_.get(), 1);
    if (acceptor_.joinable()) acceptor_.join();
    connections_.clear();
}

TlsFront::TlsFront(const SelfMadeCertificate& certificate, int upstream_port)
    : context_(SSL_CTX_new(TLS_server_method())), upstream_port_(upstream_port) {
    CHECK(
        SSL_CTX_use_certificate_file(context_, certificate.certificate().c_str(),
                                     SSL_FILETYPE_PEM) == 1 &&
            SSL_CTX_use_PrivateKey_file(context_, certificate.key().c_str(), SSL_FILETYPE_PEM) == 1,
        "the certificate can be used");
    start();
}

TlsFront::~TlsFront() {
    stop();
    SSL_CTX_free(context_);
}

std::string TlsFront::base_url() const {
    return fmt::format("https://127.0.0.1:{}", port());
}

void TlsFront::serve(base::Fd client) {
    // OpenSSL writes to a client that has gone without MSG_NOSIGNAL.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    const std::unique_ptr<SSL, Freeing<SSL_free>> tls(SSL_new(context_));
    SSL_set_fd(tls.get(), client.get());
    if (SSL_accept(tls.get()) != 1) return;
    const base::Fd server = connect_to(upstream_port_);
    std::array<char, 16384> bytes;
    while (SSL_pending(tls.get()) > 0 || wait_readable(client.get(), server.get())) {
        pollfd from_server{server.get(), POLLIN, 0};
        if (SSL_pending(tls.get()) == 0 && poll(&from_server, 1, 0) > 0) {
            const ssize_t got = recv(server.get(), bytes.data(), bytes.size(), 0);
            if (got <= 0 || SSL_write(tls.get(), bytes.data(), static_cast<int>(got)) <= 0) return;
            continue;
        }
        const int got = SSL_read(tls.get(), bytes.data(), static_cast<int>(bytes.size()));
        if (got <= 0 || !send_all(server.get(), {bytes.data(), static_cast<std::size_t>(got)}))
            return;
    }
}

ForwardProxy::ForwardProxy() {
    start();
}

ForwardProxy::~ForwardProxy() {
    stop();
}

std::string ForwardProxy::url() const {
    return fmt::format("http://127.0.0.1:{}", port());
}

std::vector<std::string> ForwardProxy::asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
}

void ForwardProxy::serve(base::Fd client) {
    std::array<char, 16384> bytes;
    std::string head;
    while (!head.contains("\r\n\r\n")) {
        if (head.size() > kHeadBytesMax || !wait_readable(client.get(), -1)) return;
        const ssize_t got = recv(client.get(), bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        head.append(bytes.data(), static_cast<std::size_t>(got));
    }
    const std::string line = head.substr(0, head.find("\r\n"));
    {
        const std::lock_guard lock(mutex_);
        asked_.push_back(line);
    }
    // "CONNECT host:port HTTP/1.1", or "POST http://host:port/path HTTP/1.1".
    const bool is_tunnel = line.starts_with("CONNECT ");
    const std::size_t host = is_tunnel ? line.find(' ') + 1 : line.find("://") + 3;
    const std::size_t colon = line.find(':', host);
    if (colon == line.npos) return;
    const base::Fd server = connect_to(std::atoi(line.c_str() + colon + 1));
    if (!server) return;
    const bool passed_on =
        is_tunnel ? send_all(client.get(), "HTTP/1.1 200 Connected\r\n\r\n")
                  : send_all(server.get(), "POST " + head.substr(head.find('/', colon)));
    const auto pass = [&](int from, int to) {
        const ssize_t got = recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got < 0) return errno == EAGAIN;
        return got > 0 && send_all(to, {bytes.data(), static_cast<std::size_t>(got)});
    };
    while (passed_on && wait_readable(client.get(), server.get()))
        if (!pass(client.get(), server.get()) || !pass(server.get(), client.get())) return;
}

}  // namespace test_support
