#include "surfaces/http/server/connection.h"

#include "base/log/log.h"
#include "base/text.h"
#include "surfaces/http/server/errors.h"
#include "surfaces/http/server/wire.h"

namespace http_surface {
namespace {

constexpr auto kResult = net::as_tuple(net::use_awaitable);
constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kBodyReadBytes = 64 * 1024;
constexpr std::size_t kKeyCharsShown = 40;
constexpr std::size_t kLingerBytesMax = 256 * 1024;
constexpr std::chrono::seconds kLinger{2};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kHeartbeat = ": heartbeat\n\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr std::string_view kGoodbye = ": the server is going away\n\n";

using Parser = http::request_parser<http::string_body>;

Method method_of(http::verb verb) {
    switch (verb) {
        case http::verb::get:
            return Method::Get;
        case http::verb::head:
            return Method::Head;
        case http::verb::post:
            return Method::Post;
        default:
            return Method::Other;
    }
}

template <class Name>
std::optional<std::string> field(const http::fields& fields, Name name) {
    const auto entry = fields.find(name);
    if (entry == fields.end()) return std::nullopt;
    return std::string(entry->value());
}

std::map<std::string, std::string, std::less<>> delivery_headers(const http::fields& fields) {
    std::map<std::string, std::string, std::less<>> found;
    for (const auto name : kDeliveryHeaders)
        if (auto value = field(fields, name)) found.emplace(name, std::move(*value));
    return found;
}

Head head_of(const http::request<http::string_body>& message) {
    const std::string_view target(message.target().data(), message.target().size());
    const auto mark = target.find('?');
    return {.method = method_of(message.method()),
            .path = std::string(target.substr(0, mark)),
            .query = mark == std::string_view::npos ? "" : std::string(target.substr(mark + 1)),
            .authorization = field(message, http::field::authorization),
            .content_type = field(message, http::field::content_type),
            .host = field(message, http::field::host),
            .origin = field(message, http::field::origin),
            .last_event_id = field(message, "Last-Event-ID"),
            .delivery = delivery_headers(message)};
}

// The answer to what could not be read as a request.
Response unreadable(const beast::error_code& error) {
    if (error == http::error::header_limit)
        return refusal(431, "headers_too_large", "the request's headers are too large");
    if (error == http::error::body_limit)
        return refusal(413, "payload_too_large", "the request's body is too large");
    if (error == http::error::bad_version)
        return refusal(505, "http_version", "this server speaks HTTP/1.1 and 1.0");
    return refusal(400, "bad_request", "the request is not valid HTTP: " + error.message());
}

bool is_http_error(const beast::error_code& error) {
    return error.category() == beast::error_code(http::error::bad_method).category() &&
           error != http::error::end_of_stream && error != http::error::partial_message;
}

// Requests that two readers could understand differently, or that require an unsupported feature.
std::optional<Response> odd_head(const Parser& parser, const Limits& limits) {
    const auto& message = parser.get();
    const auto fields = static_cast<std::size_t>(std::distance(message.begin(), message.end()));
    if (fields > limits.header_fields)
        return refusal(431, "headers_too_large", "the request has too many headers");
    if (message.count(http::field::host) > 1 || message.count(http::field::authorization) > 1 ||
        message.count(http::field::content_length) > 1)
        return refusal(400, "bad_request", "a header that must be single is repeated");
    if (message.count(http::field::transfer_encoding) > 0 && !parser.chunked())
        return refusal(501, "transfer_encoding", "chunked is the only supported transfer coding");
    if (message.count(http::field::expect) > 0 &&
        !beast::iequals(message[http::field::expect], "100-continue"))
        return refusal(417, "expectation_failed", "100-continue is the only expectation met here");
    return std::nullopt;
}

// A route and the caller's rights, or the refusal.
struct Admitted {
    const Route* route{nullptr};
    Request request;
};

// A page in a browser can send a form, or a request without a body, to any listener, but not JSON.
// Browsers cannot reach the Unix socket.
bool is_write_of_unknown_type(const Route& route, const Head& head, const Peer& peer) {
    return route.guard == Guard::Token && route.method == Method::Post && !peer.is_unix &&
           (!head.content_type || !is_json(*head.content_type));
}

std::variant<Admitted, Response> admit(Core& core, Head head, const Peer& peer) {
    auto found = match(routes(), head.method, head.path);
    if (std::holds_alternative<NoRoute>(found))
        return refusal(404, "not_found", "there is no such route; GET /openapi.json lists them");
    if (const auto* wrong = std::get_if<WrongMethod>(&found)) {
        auto response =
            refusal(405, "method_not_allowed", "this route takes " + wrong->allow + " only");
        response.headers.emplace_back("Allow", wrong->allow);
        return response;
    }
    auto& [route, params] = std::get<Matched>(found);
    auto access = core.access.admit(route->guard, head, peer);
    core.metrics.auth_failures = core.access.failures();
    if (auto* refused = std::get_if<Response>(&access)) return std::move(*refused);
    const auto& rights = std::get<Rights>(access);
    if (route->guard == Guard::Token && !rights.control && route->method == Method::Post)
        return refusal(403, "view_only", "this token may read, but not change anything");
    if (is_write_of_unknown_type(*route, head, peer))
        return refusal(415, "unsupported_media_type",
                       "send writes with Content-Type: application/json");
    if (route->is_replay && !rights.replay)
        return refusal(403, "replay_not_allowed", "this token may not read history");
    auto query = parse_query(head.query);
    if (!query) return refusal(400, "invalid_query", query.error().message);
    if (const std::string unknown = unknown_key(*route, *query); !unknown.empty())
        return refusal(400, "invalid_query",
                       fmt::format("the query has no key '{}' here; see /openapi.json",
                                   base::printable(base::ellipsize(unknown, kKeyCharsShown))));
    return Admitted{route, Request{.head = std::move(head),
                                   .peer = peer,
                                   .rights = rights,
                                   .params = std::move(params),
                                   .query = std::move(*query)}};
}

std::size_t body_max(const Route& route, const Limits& limits) {
    switch (route.body) {
        case BodyRule::None:
        case BodyRule::Json:
            return limits.body_bytes;
        case BodyRule::Bytes:
            return limits.callback_body_bytes;
    }
    return limits.body_bytes;
}

Response too_large(std::size_t bytes_max) {
    return refusal(413, "payload_too_large",
                   fmt::format("the body may have at most {} bytes here", bytes_max));
}

// A field as it is sent. A value with a line end would be two fields.
void add_field(std::string& head, std::string_view name, std::string_view value) {
    head.append(name).append(": ");
    for (const char c : value) head += c == '\r' || c == '\n' ? ' ' : c;
    head += "\r\n";
}

std::string status_line(http::status status) {
    return fmt::format("HTTP/1.1 {} {}\r\n", static_cast<unsigned>(status),
                       std::string_view(http::obsolete_reason(status)));
}

class Connection final : public OpenConnection, public std::enable_shared_from_this<Connection> {
public:
    Connection(Core& core, Peer peer, Stream stream, net::ssl::context* tls)
        : core_(core),
          limits_(core.options.limits),
          peer_(std::move(peer)),
          wire_(std::move(stream), tls),
          wake_(lowest().get_executor()) {
        place_ = core_.open.insert(core_.open.end(), this);
        ++core_.open_by_peer[peer_.key];
        ++core_.metrics.connections_open;
    }
    ~Connection() override {
        core_.open.erase(place_);
        if (const auto count = core_.open_by_peer.find(peer_.key); --count->second == 0)
            core_.open_by_peer.erase(count);
        --core_.metrics.connections_open;
        core_.on_closed();
    }

    void start() {
        net::co_spawn(lowest().get_executor(), run(),
                      [self = shared_from_this()](const std::exception_ptr& failure) {
                          log_failure(failure);
                      });
    }

    void drain() override {
        if (idle_) lowest().cancel();
        wake_.cancel();
    }
    void abort() override { lowest().close(); }

private:
    Stream& lowest() { return wire_.lowest(); }

    net::awaitable<void> run() {
        lowest().expires_after(limits_.header);
        if (co_await wire_.open()) co_return;
        for (std::size_t served = 1; co_await has_request(); ++served) {
            const bool last = served >= limits_.requests_per_connection;
            if (!co_await serve_one(last)) break;
        }
        co_await close();
    }

    // Waits for the first byte of a request; false when there will be none.
    net::awaitable<bool> has_request() {
        if (core_.draining) co_return false;
        if (buffer_.size() > 0) co_return true;
        idle_ = true;
        lowest().expires_after(limits_.idle);
        const auto error = co_await read_more(kReadBytes);
        idle_ = false;
        co_return !error;
    }

    net::awaitable<beast::error_code> read_more(std::size_t bytes_max) {
        const auto [error, bytes] = co_await wire_.read_some(buffer_.prepare(bytes_max));
        buffer_.commit(bytes);
        co_return error;
    }

    enum class Until { Header, Body };

    // Reads until the parser has what is asked for, or until the connection or the parser fails.
    net::awaitable<beast::error_code> parse(Until until) {
        const bool whole = until == Until::Body;
        parser_->eager(whole);
        while (!(whole ? parser_->is_done() : parser_->is_header_done())) {
            beast::error_code error;
            const std::size_t used =
                buffer_.size() > 0 ? parser_->put(buffer_.data(), error) : std::size_t{0};
            buffer_.consume(used);
            if (error && error != http::error::need_more) co_return error;
            if (used > 0 && !error) continue;
            error = co_await read_more(whole ? kBodyReadBytes : kReadBytes);
            if (error) co_return error;
        }
        co_return beast::error_code{};
    }

    // Reads and answers one request; false when the connection has to end then.
    net::awaitable<bool> serve_one(bool last) {
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
        parser_->body_limit(limits_.body_bytes);
        lowest().expires_after(limits_.header);
        if (const auto error = co_await parse(Until::Header)) {
            if (is_http_error(error)) co_await refuse(unreadable(error));
            co_return false;
        }
        const auto began = std::chrono::steady_clock::now();
        keep_ = !last && !core_.draining && parser_->keep_alive();
        if (auto odd = odd_head(*parser_, limits_)) {
            keep_ = false;  // The start of the next request is unknown.
            co_return co_await refuse(std::move(*odd));
        }
        auto admitted = admit(core_, head_of(parser_->get()), peer_);
        if (auto* refused = std::get_if<Response>(&admitted))
            co_return co_await refuse(std::move(*refused));
        auto& [route, request] = std::get<Admitted>(admitted);
        if (auto refused = co_await read_body(body_max(*route, limits_)))
            co_return co_await refuse(std::move(*refused));
        if (!parser_->is_done()) co_return false;
        request.body = std::move(parser_->get().body());
        Response response = co_await respond(route, std::move(request));
        core_.metrics.answered(route->pattern, response.status,
                               std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now() - began));
        if (response.follow || response.follow_run || response.held_run) {
            co_await follow(std::move(response));
            co_return false;
        }
        co_return co_await write(std::move(response));
    }

    net::awaitable<std::optional<Response>> read_body(std::size_t bytes_max) {
        if (parser_->is_done()) co_return std::nullopt;
        if (parser_->content_length().value_or(0) > bytes_max) co_return too_large(bytes_max);
        parser_->body_limit(bytes_max);
        lowest().expires_after(limits_.body);
        if (parser_->get().count(http::field::expect) > 0 && buffer_.size() == 0)
            co_await write_all({net::buffer(kContinue)});
        const auto error = co_await parse(Until::Body);
        if (error == http::error::body_limit) co_return too_large(bytes_max);
        if (is_http_error(error)) co_return unreadable(error);
        co_return std::nullopt;
    }

    // The route's answer; a snapshot is made once and reused until the agent's next event.
    net::awaitable<Response> respond(const Route* route, Request request) {
        if (!route->is_snapshot) {
            auto response = co_await ask(route, std::move(request));
            if (route->method == Method::Post) core_.snapshots.forget_all();
            co_return response;
        }
        const auto named = request.params.find("agent_id");
        const std::string agent =
            named == request.params.end() ? core_.context.facts.default_agent : named->second;
        if (const auto body = core_.snapshots.find(agent)) co_return Response{.body = *body};
        const auto began = core_.snapshots.generation(agent);
        auto response = co_await ask(route, std::move(request));
        if (response.status == 200) core_.snapshots.put(agent, began, response.body);
        co_return response;
    }

    // From a thread that may block.
    net::awaitable<Response> ask(const Route* route, Request request) {
        if (!core_.pool.has_room()) {
            ++core_.metrics.calls_refused;
            auto busy = refusal(503, "overloaded", "too many requests are waiting; try again");
            busy.headers.emplace_back("Retry-After", "1");
            co_return busy;
        }
        co_return co_await net::async_initiate<const net::use_awaitable_t<>, void(Response)>(
            [this, route, request = std::move(request)](auto done) mutable {
                core_.pool.submit([this, route, request = std::move(request),
                                   done = std::move(done)]() mutable {
                    auto response = answer(core_.context, *route, request);
                    net::post(core_.loop.context(),
                              [done = std::move(done), response = std::move(response)]() mutable {
                                  std::move(done)(std::move(response));
                              });
                });
            },
            net::use_awaitable);
    }

    // Answers a request whose body may not have been read; what is left of it ends the connection.
    net::awaitable<bool> refuse(Response response) {
        const bool whole =
            parser_->is_done() || (parser_->is_header_done() && !parser_->chunked() &&
                                   parser_->content_length().value_or(0) == 0);
        keep_ = keep_ && whole;
        core_.metrics.answered("refused", response.status, std::chrono::microseconds(0));
        co_return co_await write(std::move(response));
    }

    net::awaitable<bool> write(Response response) {
        std::string head = status_line(static_cast<http::status>(response.status));
        add_field(head, "Content-Type", response.content_type);
        add_field(head, "Cache-Control", "no-store");
        add_field(head, "Date", http_date());
        for (const auto& [name, value] : response.headers) add_field(head, name, value);
        if (!keep_) add_field(head, "Connection", "close");
        if (response.status != 204)
            add_field(head, "Content-Length", std::to_string(response.body.size()));
        head += "\r\n";
        // Parsed to the end of its head at least, or it is not known to be a HEAD.
        const bool head_only =
            parser_->is_header_done() && parser_->get().method() == http::verb::head;
        std::vector<net::const_buffer> parts{net::buffer(head)};
        if (!head_only) parts.push_back(net::buffer(response.body));
        lowest().expires_after(limits_.write);
        const auto error = co_await wire_.write(parts);
        co_return !error && keep_;
    }

    // Errors are left to the next read or write.
    net::awaitable<void> write_all(std::vector<net::const_buffer> parts) {
        co_await wire_.write(parts);
    }

    net::awaitable<void> follow(Response wanted) {
        const bool chunked = parser_->get().version() >= 11;
        parser_.reset();
        buffer_ = beast::flat_buffer();  // Thousands of idle streams keep no room for requests.
        if (!co_await write_stream_head(chunked)) co_return;
        ++core_.metrics.streams_open;
        auto frames = subscribe(wanted);
        net::co_spawn(lowest().get_executor(), notice_leaving(),
                      [self = shared_from_this()](const std::exception_ptr& failure) {
                          log_failure(failure);
                      });
        co_await write_events(frames.get(), chunked);
        frames.reset();
        --core_.metrics.streams_open;
        lowest().cancel();
        // close() reads, too, and there may be one reader at a time.
        while (!gone_) {
            wake_.expires_at(std::chrono::steady_clock::time_point::max());
            co_await wake_.async_wait(kResult);
        }
    }

    net::awaitable<bool> write_stream_head(bool chunked) {
        std::string head = status_line(http::status::ok);
        add_field(head, "Content-Type", "text/event-stream");
        add_field(head, "Cache-Control", "no-cache");
        add_field(head, "Date", http_date());
        add_field(head, "Connection", "close");
        if (chunked) add_field(head, "Transfer-Encoding", "chunked");
        head += "\r\n";
        const std::vector<net::const_buffer> parts{net::buffer(head)};
        lowest().expires_after(limits_.write);
        co_return !co_await wire_.write(parts);
    }

    std::unique_ptr<FrameStream> subscribe(const Response& wanted) {
        const auto wake = [this] { wake_.cancel(); };
        if (wanted.follow_run) return core_.runs.subscribe(*wanted.follow_run, wake);
        if (wanted.held_run) return core_.held_runs.subscribe(wanted.held_run, wake);
        return core_.hub.subscribe(*wanted.follow, wake);
    }

    net::awaitable<void> write_events(FrameStream* stream, bool chunked) {
        while (!gone_ && !core_.draining) {
            const auto frames = stream->take(limits_.stream_batch_bytes);
            if (!frames.empty()) {
                core_.metrics.stream_events += frames.size();
                if (!co_await write_part(buffers_of(frames), chunked)) co_return;
                continue;
            }
            if (stream->is_over()) break;
            wake_.expires_after(limits_.heartbeat);
            const auto [woken] = co_await wake_.async_wait(kResult);
            if (!woken && !co_await write_part({net::buffer(kHeartbeat)}, chunked)) co_return;
        }
        if (gone_) co_return;
        if (core_.draining && !co_await write_part({net::buffer(kGoodbye)}, chunked)) co_return;
        if (chunked) co_await write_all({net::buffer(kLastChunk)});
    }

    static std::vector<net::const_buffer> buffers_of(const std::vector<FrameText>& frames) {
        std::vector<net::const_buffer> buffers;
        buffers.reserve(frames.size() + 2);
        for (const auto& frame : frames) buffers.push_back(net::buffer(*frame));
        return buffers;
    }

    // False when the client is gone, or takes nothing for so long that it is dropped.
    net::awaitable<bool> write_part(std::vector<net::const_buffer> part, bool chunked) {
        std::string size;
        if (chunked) {
            size = fmt::format("{:x}\r\n", net::buffer_size(part));
            part.insert(part.begin(), net::buffer(size));
            part.push_back(net::buffer(std::string_view("\r\n")));
        }
        lowest().expires_after(limits_.write);
        const auto error = co_await wire_.write(part);
        if (error == beast::error::timeout) ++core_.metrics.streams_dropped;
        co_return !error;
    }

    // A client of a stream sends nothing more; further bytes are discarded here, and its end of
    // file ends the stream.
    net::awaitable<void> notice_leaving() {
        std::array<char, 64> ignored;
        for (std::size_t total = 0; total < kLingerBytesMax;) {
            lowest().expires_never();
            const auto [error, bytes] = co_await wire_.read_some(net::buffer(ignored));
            if (error) break;
            total += bytes;
        }
        gone_ = true;
        wake_.cancel();
    }

    // Closing with unread bytes would reset the connection and could take the last answer along,
    // so they are read for a moment.
    net::awaitable<void> close() {
        lowest().expires_after(kLinger);
        co_await wire_.close();
        beast::error_code ignored;
        lowest().socket().shutdown(net::socket_base::shutdown_send, ignored);
        lowest().expires_after(kLinger);
        idle_ = true;
        std::vector<char> rest(kReadBytes);
        for (std::size_t total = 0; total < kLingerBytesMax && !core_.draining;) {
            const auto [error, bytes] =
                co_await lowest().async_read_some(net::buffer(rest), kResult);
            if (error) break;
            total += bytes;
        }
        lowest().close();
    }

    // "Sun, 15 Nov 2026 08:00:00 GMT"
    std::string http_date() {
        const auto now = std::chrono::floor<std::chrono::seconds>(core_.clock.now());
        static thread_local std::chrono::sys_seconds made{};
        static thread_local std::string text;
        if (made != now || text.empty()) {
            made = now;
            const std::time_t time = std::chrono::system_clock::to_time_t(now);
            std::tm parts{};
            gmtime_r(&time, &parts);
            std::array<char, 40> buffer{};
            const auto size =
                std::strftime(buffer.data(), buffer.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
            text.assign(buffer.data(), size);
        }
        return text;
    }

    Core& core_;
    const Limits& limits_;
    Peer peer_;
    Wire wire_;
    net::basic_waitable_timer<std::chrono::steady_clock,
                              net::wait_traits<std::chrono::steady_clock>,
                              net::io_context::executor_type>
        wake_;
    beast::flat_buffer buffer_;
    std::optional<Parser> parser_;
    bool keep_{false};
    bool idle_{false};
    bool gone_{false};
    std::list<OpenConnection*>::iterator place_;
};

}  // namespace

void log_failure(const std::exception_ptr& failure) {
    if (!failure) return;
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        base::log_error("the HTTP server caught an error: {}", error.what());
    }
}

void serve_connection(Core& core, Stream stream, Peer peer, net::ssl::context* tls) {
    std::make_shared<Connection>(core, std::move(peer), std::move(stream), tls)->start();
}

}  // namespace http_surface
