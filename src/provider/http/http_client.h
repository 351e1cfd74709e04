// HTTP for transports: one request in, one response or failure out, on the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "base/os/asio_loop.h"
#include "provider/provider.h"

namespace provider {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kConnectTimeout = 30s;
inline constexpr std::chrono::milliseconds kFirstByteTimeout = 300s;
inline constexpr std::chrono::milliseconds kIdleTimeout = 300s;
inline constexpr std::chrono::milliseconds kTotalTimeout = 300s;
inline constexpr std::size_t kBodyBytesMax = 64 * 1024 * 1024;
inline constexpr std::size_t kHeaderBytesMax = 256 * 1024;

struct HttpHeader {
    std::string name;
    std::string value;
    friend bool operator==(const HttpHeader&, const HttpHeader&) = default;
};

// The first value of `name`, in any case; null when there is none.
const std::string* find_header(const std::vector<HttpHeader>& headers, std::string_view name);

struct HttpTimeouts {
    std::chrono::milliseconds connect{kConnectTimeout};
    std::chrono::milliseconds first_byte{kFirstByteTimeout};  // From dispatch to response headers.
    std::chrono::milliseconds idle{kIdleTimeout};             // From then on between two chunks.
    std::optional<std::chrono::milliseconds> total{kTotalTimeout};  // Streams may have none.
};

enum class HttpMethod { Post, Get };

struct HttpResponse {
    std::int64_t status{0};
    std::vector<HttpHeader> headers{};
    std::string body{};  // Empty when it went out in chunks.
    bool is_cut{false};  // The body was longer; see HttpRequest::cut_body.
};

struct HttpRequest {
    std::string url;  // http or https.
    HttpMethod method{HttpMethod::Post};
    std::vector<HttpHeader> headers{};
    std::string body{};  // Of a POST.
    HttpTimeouts timeouts{};
    std::size_t body_bytes_max{kBodyBytesMax};  // Of the response, after decompression.
    // A longer body is cut there, and the response says so; otherwise it is a failure.
    bool cut_body{false};
    std::size_t header_bytes_max{kHeaderBytesMax};
    // Asked for each address right before a connection to it is opened: what was checked is what is
    // connected to, whatever a name server says later. False: that address is not used. Must not
    // call the client. A kept connection is not asked for again, so requests with different rules
    // for one host need clients of their own.
    std::function<bool(const sockaddr& address)> may_connect{};
    // Gets status and headers as soon as they are complete, on the loop, before any chunk.
    std::function<void(const HttpResponse& head)> on_head{};
};

// Any status is a response, redirects too, which are not followed. A Failure is always of the
// transport; its diagnostics hold stage and url. No header and no query is ever part of it.
using HttpOutcome = std::expected<HttpResponse, Failure>;

// Gets the body of a 2xx response piece by piece, each in a task of its own, before `done`.
using ChunkHandler = std::function<void(std::string_view chunk)>;

struct HttpOptions {
    // The environment's proxy variables apply unless this is set; "" means no proxy.
    std::optional<std::string> proxy{};
    std::string ca_file{};  // Certificates to trust instead of the system's, unless empty.
    // "name:port:address" where a name is not to be looked up; for tests.
    std::vector<std::string> resolved{};
};

class HttpSender;

// Keeps connections open between requests. A request that meets a kept connection which the server
// has closed, before any byte of an answer, goes out once more on a new one. Used from the loop's
// thread only; must be gone before the loop is. Costs nothing until the first send().
class HttpClient {
public:
    explicit HttpClient(base::AsioLoop& loop, HttpOptions options = {});
    // What is still on its way is cancelled.
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    // `done` is called exactly once, on the loop, and never before send() has returned. With
    // `on_chunk` the body of a 2xx response is not collected. Cancelling closes the connection and
    // gives FailureKind::Cancelled.
    std::shared_ptr<Exchange> send(HttpRequest request, ChunkHandler on_chunk,
                                   std::move_only_function<void(HttpOutcome)> done);

    // A handle that may outlive the client.
    HttpSender sender();

    // The loop on which everything is called.
    base::Loop& loop();

    // Sets up curl and the TLS library, which the first request of the process would wait for. It
    // takes some milliseconds. Any thread, more than once.
    static void warm_up();

private:
    friend class HttpSender;
    class Core;
    std::shared_ptr<Core> core_;
};

// Sends as HttpClient::send() does, for an exchange that sends more than once: the client may be
// gone by then, and the outcome is FailureKind::Cancelled. The loop must outlive it.
class HttpSender {
public:
    std::shared_ptr<Exchange> send(HttpRequest request, ChunkHandler on_chunk,
                                   std::move_only_function<void(HttpOutcome)> done);
    base::Loop& loop();

private:
    friend class HttpClient;
    explicit HttpSender(std::shared_ptr<HttpClient::Core> core) : core_(std::move(core)) {}
    // Closed by the client's destructor, which also breaks the cycle through a request on its way.
    std::shared_ptr<HttpClient::Core> core_;
};

// `url` without user info, query and fragment: safe to show.
std::string public_url(std::string_view url);

}  // namespace provider
