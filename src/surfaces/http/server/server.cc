#include "surfaces/http/server/server.h"

#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log/log.h"
#include "surfaces/http/server/connection.h"
#include "surfaces/http/server/listeners.h"

namespace http_surface {
namespace {

constexpr std::chrono::milliseconds kAcceptPause{100};  // After EMFILE and the like.
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    "Connection: close\r\nContent-Length: 75\r\n\r\n"
    R"({"ok":false,"error":"too many connections; try again","code":"overloaded"})"
    "\n";

using Tcp = net::ip::tcp;
using TcpAcceptor = net::basic_socket_acceptor<Tcp, net::io_context::executor_type>;
using Local = net::local::stream_protocol;
using LocalAcceptor = net::basic_socket_acceptor<Local, net::io_context::executor_type>;

// One client of an IPv6 network has a whole /64 to call from.
std::string peer_key(const net::ip::address& address) {
    if (address.is_v4()) return address.to_string();
    auto v6 = address.to_v6();
    if (v6.is_v4_mapped()) return net::ip::make_address_v4(net::ip::v4_mapped, v6).to_string();
    auto bytes = v6.to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return net::ip::address_v6(bytes).to_string();
}

std::optional<std::uint32_t> user_behind(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
    return credentials.uid;
}

base::Result<Tcp::endpoint> resolve(const TcpAddress& address) {
    boost::system::error_code error;
    const auto host =
        net::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
    if (error)
        return base::fail(base::ErrorCode::InvalidInput,
                          "'{}' is not an address to listen on; give a numeric one, such as "
                          "127.0.0.1 or 0.0.0.0",
                          address.host);
    return Tcp::endpoint(host, address.port);
}

base::Result<std::optional<net::ssl::context>> tls_context(const std::optional<TlsFiles>& files) {
    if (!files) return std::nullopt;
    net::ssl::context context(net::ssl::context::tls_server);
    boost::system::error_code error;
    context.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_tlsv1 |
                        net::ssl::context::no_tlsv1_1);
    context.use_certificate_chain_file(files->certificate.string(), error);
    if (error)
        return base::fail(base::ErrorCode::InvalidInput, "the certificate {} cannot be used: {}",
                          files->certificate.string(), error.message());
    context.use_private_key_file(files->key.string(), net::ssl::context::pem, error);
    if (error)
        return base::fail(base::ErrorCode::InvalidInput, "the private key {} cannot be used: {}",
                          files->key.string(), error.message());
    return std::optional(std::move(context));
}

class RealServer final : public Server {
public:
    RealServer(Parts parts, Options options)
        : parts_(std::move(parts)),
          options_(std::move(options)),
          context_{parts_.service,          parts_.settings, parts_.gate,  parts_.facts, options_,
                   parts_.request_shutdown, metrics_text_,   parts_.plans, parts_.mcp},
          access_({.token = options_.token,
                   .viewer_token = options_.viewer_token,
                   .allowed_hosts = options_.allowed_hosts,
                   .auth_failures = options_.limits.auth_failures,
                   .auth_window = options_.limits.auth_window},
                  parts_.clock),
          pool_(options_.limits.call_threads, options_.limits.calls_waiting),
          hub_(parts_.service, loop_, [this](base::Job task) { pool_.submit(std::move(task)); }),
          snapshots_(parts_.service, loop_,
                     [this](base::Job task) { pool_.submit(std::move(task)); }),
          runs_(parts_.plans, loop_, [this](base::Job task) { pool_.submit(std::move(task)); }),
          held_runs_(loop_),
          core_{.loop = loop_,
                .options = options_,
                .context = context_,
                .clock = parts_.clock,
                .access = access_,
                .hub = hub_,
                .runs = runs_,
                .held_runs = held_runs_,
                .snapshots = snapshots_,
                .pool = pool_,
                .metrics = metrics_,
                .on_closed = [this] { note_closed(); }} {
        loop_.on_error = log_failure;
    }

    ~RealServer() override { drain(std::chrono::milliseconds(0)); }

    base::Status open() {
        tls_ = TRY(tls_context(options_.tls));
        for (const auto& address : options_.tcp) TRY(open_tcp(address));
        if (options_.socket_path) {
            socket_file_.emplace(TRY(UnixSocket::listen(*options_.socket_path)));
            local_.emplace(loop_.context(), Local(), socket_file_->release());
        }
        for (auto& listener : tcp_)
            net::co_spawn(loop_.context(), accept(&listener.acceptor, listener.token_required),
                          log_failure);
        if (local_) net::co_spawn(loop_.context(), accept(&*local_, false), log_failure);
        thread_ = std::jthread([this] { loop_.run(); });
        return {};
    }

    std::vector<std::string> tcp_addresses() const override { return addresses_; }

    void drain(std::chrono::milliseconds grace) override {
        if (!thread_.joinable()) return;
        loop_.post([this] { stop_accepting(); });
        {
            std::unique_lock lock(mutex_);
            closed_.wait_for(lock, grace, [&] { return ended_; });
        }
        loop_.post([this] {
            for (auto* connection : core_.open) connection->abort();
        });
        pool_.finish();  // Calls of the service end; their connections then find themselves closed.
        {
            std::unique_lock lock(mutex_);
            closed_.wait(lock, [&] { return ended_; });
        }
        loop_.stop();
        thread_.join();
        socket_file_.reset();
    }

private:
    struct TcpListener {
        TcpAcceptor acceptor;
        bool token_required;
    };

    base::Status open_tcp(const TcpAddress& address) {
        const auto endpoint = TRY(resolve(address));
        boost::system::error_code error;
        TcpAcceptor acceptor(loop_.context());
        acceptor.open(endpoint.protocol(), error);
        if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
        if (!error) acceptor.bind(endpoint, error);
        if (!error) acceptor.listen(kBacklog, error);
        if (error == net::error::address_in_use)
            return base::fail(base::ErrorCode::Conflict,
                              "port {} of {} is in use by {}; choose another one with --port, for "
                              "instance --port {}",
                              address.port, address.host, listener_at(address.port),
                              address.port < 65535 ? address.port + 1 : 7878);
        if (error)
            return base::fail(base::ErrorCode::Unavailable, "cannot listen on {}:{}: {}",
                              address.host, address.port, error.message());
        const auto local = acceptor.local_endpoint();
        const std::string host = local.address().to_string();
        addresses_.push_back(
            fmt::format("{}:{}", local.address().is_v6() ? "[" + host + "]" : host, local.port()));
        tcp_.push_back(
            {std::move(acceptor), requires_token(options_.auth_mode, options_.token.has_value(),
                                                 local.address().to_string())});
        return {};
    }

    static Peer peer_of(const TcpAcceptor::protocol_type::socket::endpoint_type& endpoint,
                        bool token_required) {
        return {.key = peer_key(endpoint.address()), .token_required = token_required};
    }
    static Peer peer_of(const Local::endpoint&, bool) { return {.key = "unix", .is_unix = true}; }

    template <class Acceptor>
    net::awaitable<void> accept(Acceptor* acceptor, bool token_required) {
        using Protocol = typename Acceptor::protocol_type;
        using Socket = net::basic_stream_socket<Protocol, net::io_context::executor_type>;
        while (acceptor->is_open()) {
            Socket socket(loop_.context());
            typename Protocol::endpoint from;
            const auto [error] =
                co_await acceptor->async_accept(socket, from, net::as_tuple(net::use_awaitable));
            if (error == net::error::operation_aborted) break;
            if (error) {
                // Out of descriptors, most likely: connections that end make room.
                base::log_warn("cannot accept a connection: {}", error.message());
                net::steady_timer pause(loop_.context(), kAcceptPause);
                co_await pause.async_wait(net::as_tuple(net::use_awaitable));
                continue;
            }
            welcome(std::move(socket), peer_of(from, token_required));
        }
    }

    template <class Socket>
    void welcome(Socket socket, Peer peer) {
        if (core_.draining) return;
        if (peer.is_unix) peer.uid = user_behind(socket.native_handle());
        const auto count = core_.open_by_peer.find(peer.key);
        const std::size_t of_peer = count == core_.open_by_peer.end() ? 0 : count->second;
        const auto& limits = options_.limits;
        const std::size_t reserved =
            peer.is_unix ? 0 : std::min(limits.connections_reserved, limits.connections / 4);
        if (core_.open.size() >= limits.connections - reserved ||
            (!peer.is_unix && of_peer >= options_.limits.connections_per_peer)) {
            ++metrics_.connections_refused;
            boost::system::error_code ignored;
            socket.non_blocking(true, ignored);
            if (peer.is_unix || !tls_) socket.write_some(net::buffer(kFull), ignored);
            return;
        }
        auto* const tls = !peer.is_unix && tls_ ? &*tls_ : nullptr;
        if constexpr (std::is_same_v<typename Socket::protocol_type, Tcp>) {
            boost::system::error_code ignored;
            socket.set_option(Tcp::no_delay(true), ignored);
        }
        serve_connection(core_, Stream(std::move(socket)), std::move(peer), tls);
    }

    void stop_accepting() {
        core_.draining = true;
        for (auto& listener : tcp_) listener.acceptor.close();
        if (local_) local_->close();
        for (auto* connection : core_.open) connection->drain();
        note_closed();
    }

    void note_closed() {
        if (!core_.draining || !core_.open.empty()) return;
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        closed_.notify_all();
    }

    Parts parts_;
    Options options_;
    Metrics metrics_;
    std::function<std::string()> metrics_text_{[this] {
        return metrics_.text() + (parts_.plan_totals ? plan_text(parts_.plan_totals()) : "") +
               (parts_.runtime_metrics ? parts_.runtime_metrics() : "");
    }};
    Context context_;
    std::optional<net::ssl::context> tls_;
    base::AsioLoop loop_;
    Access access_;
    WorkerPool pool_;
    EventHub hub_;
    SnapshotCache snapshots_;
    RunStreams runs_;
    HeldRuns held_runs_;
    Core core_;
    std::vector<TcpListener> tcp_;
    std::vector<std::string> addresses_;
    std::optional<UnixSocket> socket_file_;
    std::optional<LocalAcceptor> local_;
    std::mutex mutex_;
    std::condition_variable closed_;
    bool ended_{false};
    std::jthread thread_;
};

}  // namespace

base::Result<std::unique_ptr<Server>> Server::start(Parts parts, Options options) {
    auto server = std::make_unique<RealServer>(std::move(parts), std::move(options));
    TRY(server->open());
    return std::unique_ptr<Server>(std::move(server));
}

}  // namespace http_surface
