// The runtime over HTTP: TCP and Unix socket, one table of routes, live events as SSE.
//
// An adapter over service.h. It owns one thread for all connections and a small pool for calls of
// the service, which may block. No client can block the runtime: every size, count and wait has a
// bound in Limits, and a client that does not read is dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "service/gate.h"
#include "service/mcp.h"
#include "service/plans.h"
#include "service/service.h"
#include "service/settings.h"

namespace http_surface {

// When TCP requires a token. The Unix socket never does: only its owner and root may use it.
enum class AuthMode {
    Auto,      // When a token is configured, or when the address is not a loopback one.
    Required,  // Always; without a configured token everything is refused.
    Disabled,  // Never.
};
BOOST_DESCRIBE_ENUM(AuthMode, Auto, Required, Disabled)

struct Limits {
    std::size_t header_bytes{16 * 1024};
    std::size_t header_fields{100};
    std::size_t body_bytes{2 * 1024 * 1024};
    std::size_t callback_body_bytes{256 * 1024};
    std::size_t connections{8192};
    // Of these, only for the Unix socket, which is the operator's; at most a quarter.
    std::size_t connections_reserved{64};
    std::size_t connections_per_peer{2048};  // TCP only; one address (IPv6: one /64) is one peer.
    std::size_t requests_per_connection{100'000};
    std::size_t calls_waiting{1024};  // Requests beyond wait for no thread and get 503.
    std::size_t call_threads{16};     // Calls that wait for the disk share one trip to it.
    std::size_t stream_batch_bytes{64 * 1024};
    std::size_t auth_failures{10};  // Of one peer within auth_window; then 429.
    std::chrono::milliseconds auth_window{60'000};
    std::chrono::milliseconds idle{75'000};    // Between two requests of a connection.
    std::chrono::milliseconds header{10'000};  // From a request's first byte to its last header.
    std::chrono::milliseconds body{30'000};
    std::chrono::milliseconds write{30'000};  // For one response, or one batch of a stream.
    std::chrono::milliseconds heartbeat{15'000};
};

struct TcpAddress {
    std::string host{"127.0.0.1"};  // A numeric address, or "localhost".
    std::uint16_t port{7878};       // 0 lets the system choose.
};

struct TlsFiles {
    std::filesystem::path certificate;  // PEM, the server's own first, then the chain.
    std::filesystem::path key;
};

struct Options {
    std::vector<TcpAddress> tcp{};
    std::optional<std::filesystem::path> socket_path{};
    AuthMode auth_mode{AuthMode::Auto};
    std::optional<std::string> token{};
    // Allows reading the present state, but no changes and no history: no writes, no replay of
    // events.
    std::optional<std::string> viewer_token{};
    std::optional<TlsFiles> tls{};  // For TCP.
    // Names besides loopback ones under which browsers may reach a listener that requires no token;
    // the host of `advertise_url` belongs here.
    std::vector<std::string> allowed_hosts{};
    Limits limits{};
};

// What /handshake and /control/runtime/status report about the process; nothing here is secret.
struct RuntimeFacts {
    std::string default_agent{"main"};
    std::string workspace_dir;
    std::string home_dir;
    std::optional<std::string> advertise_url{};
    std::string http_addr;
    std::string config_fingerprint;
    base::Time started_at{};
    json::object startup_surface{};
    json::object runtime_surface{};
};

// All of these outlive the server.
struct Parts {
    service::Service& service;
    service::Settings& settings;
    base::Clock& clock;
    service::Gate* gate{nullptr};  // Null: its routes answer 501.
    RuntimeFacts facts{};
    // Requests the end of the program, as POST /control/runtime/shutdown does. On a thread of the
    // server; must return at once.
    std::function<void()> request_shutdown{};
    service::McpLive* mcp{nullptr};  // The same.
    service::Plans* plans{nullptr};  // Without it, routes of plans answer 501.
    std::function<service::PlanTotals()> plan_totals{};
    // Lines of the runtime for `/metrics`; called on a thread that may wait.
    std::function<std::string()> runtime_metrics{};
};

class Server {
public:
    // Returns when all listeners accept. Fails when an address is taken, when something listens at
    // the socket's path (a stale socket is replaced), or when TLS files cannot be used; then
    // nothing is left behind.
    static base::Result<std::unique_ptr<Server>> start(Parts parts, Options options);

    virtual ~Server() = default;  // Drains without grace.

    // "127.0.0.1:40123", in the order of Options::tcp.
    virtual std::vector<std::string> tcp_addresses() const = 0;

    // Accepts nothing more, answers what has arrived, ends streams with a comment, removes the
    // socket file, and returns when all connections are closed, by force after `grace`. The
    // service has to answer meanwhile. Again: no effect. Never on a thread of the server.
    virtual void drain(std::chrono::milliseconds grace) = 0;
};

}  // namespace http_surface
