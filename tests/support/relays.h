// Programs between a client and a server: TLS before a plain server, and a proxy.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/os/files.h"

struct ssl_ctx_st;

namespace test_support {

// A certificate for 127.0.0.1 that signs itself, and its key, in files that go with this.
class SelfMadeCertificate {
public:
    SelfMadeCertificate();
    ~SelfMadeCertificate();
    SelfMadeCertificate(const SelfMadeCertificate&) = delete;
    SelfMadeCertificate& operator=(const SelfMadeCertificate&) = delete;

    std::filesystem::path certificate() const { return folder_ / "certificate.pem"; }
    std::filesystem::path key() const { return folder_ / "key.pem"; }

private:
    std::filesystem::path folder_;
};

// Accepts connections on 127.0.0.1, each served by a thread of its own, until it is stopped.
class Acceptor {
public:
    Acceptor();
    virtual ~Acceptor();
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;
    int port() const { return port_; }

protected:
    // What derives from this calls start() at the end of its constructor and stop() first in its
    // destructor.
    void start();
    void stop();
    virtual void serve(base::Fd client) = 0;
    // Waits until one of the two can be read; false once this is stopped.
    bool wait_readable(int first, int second) const;

private:
    base::Fd listener_;
    base::Fd stop_;  // eventfd, readable once this is stopped.
    int port_{0};
    std::vector<std::jthread> connections_;  // Touched by the accepting thread only.
    std::jthread acceptor_;
};

// Speaks TLS with the client and passes what it says on to a plain server.
class TlsFront final : public Acceptor {
public:
    TlsFront(const SelfMadeCertificate& certificate, int upstream_port);
    ~TlsFront() override;
    std::string base_url() const;

private:
    void serve(base::Fd client) override;

    ssl_ctx_st* context_;
    int upstream_port_;
};

// A forward proxy: CONNECT, and requests that name the whole URL. Connects to loopback only.
class ForwardProxy final : public Acceptor {
public:
    ForwardProxy();
    ~ForwardProxy() override;
    std::string url() const;
    // The first line of each request that a client has sent it.
    std::vector<std::string> asked() const;

private:
    void serve(base::Fd client) override;

    mutable std::mutex mutex_;
    std::vector<std::string> asked_;
};

}  // namespace test_support
