#include "exec/tools/mcp/http/remote_child.h"

#include <algorithm>
#include <set>

#include "base/scan/engine/encodings.h"
#include "base/text.h"
#include "exec/tools/mcp/oauth/metadata.h"
#include "exec/tools/mcp/wire/line_codec.h"
#include "exec/tools/mcp/wire/message.h"
#include "provider/http/sse.h"

namespace mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kConnectWait = 30s;
constexpr std::chrono::milliseconds kListenDelayFirst = 1s;
constexpr std::chrono::milliseconds kListenDelayMax = 60s;
// A call's own timeout ends it earlier.
constexpr std::chrono::milliseconds kAnswerWait{config::kMcpTimeoutMaxMs};
constexpr std::size_t kSessionIdBytesMax = 1024;
constexpr std::size_t kShownScopeCharsMax = 200;
constexpr std::int64_t kUnauthorized = 401, kForbidden = 403, kNotFound = 404, kServerFault = 500;

bool has_own_credential(const config::McpServer& server) {
    return std::ranges::any_of(server.headers, [](const auto& header) {
        return provider::find_header({{header.first, header.second}}, "Authorization") != nullptr;
    });
}

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= 0x21 && c <= 0x7e; });
}

bool is_event_stream(const provider::HttpResponse& head) {
    const auto* type = provider::find_header(head.headers, "Content-Type");
    return type && type->starts_with("text/event-stream");
}

// The request that a message answers, or nothing.
std::optional<std::int64_t> answered_by(std::string_view text) {
    const auto message = base::parse_json(text);
    if (!message || !message->is_object() || base::find(*message, "method")) return std::nullopt;
    const auto* id = base::find(*message, "id");
    return id && id->is_int64() ? std::optional(id->get_int64()) : std::nullopt;
}

// A request to the server that is under way, and what has come of its answer.
struct Post {
    std::optional<std::int64_t> id;  // None: a message that has no answer.
    std::shared_ptr<provider::Exchange> exchange;
    provider::HttpResponse head;
    provider::SseReader events;
    std::string body;
    int resumes{0};
    provider::HttpRequest request{};  // As it is sent, without the token.
    std::string token{};              // The one that it was sent with last.
    bool is_renewed{false};           // It was refused once, and sent with another token.
};

class Remote : public std::enable_shared_from_this<Remote> {
public:
    Remote(provider::HttpClient& http, const config::McpServer& server, ChildEvents events,
           Authorizer* authorizer)
        : sender_(http.sender()),
          server_(server),
          events_(std::move(events)),
          authorizer_(has_own_credential(server) ? nullptr : authorizer) {}

    void write(std::string_view text) {
        const auto message = base::parse_json(text);
        if (!message || !message->is_object()) return;
        const std::string method = base::string_at(*message, "method");
        if (method == "notifications/cancelled") {
            cancel(base::int_at(message->at("params"), "requestId"));
            // The end of the stream is all that the newer revision knows.
            if (is_stateless()) return;
        }
        const auto* id = base::find(*message, "id");
        auto post = std::make_shared<Post>();
        if (id && id->is_int64() && !method.empty()) post->id = id->get_int64();
        provider::HttpRequest request = request_of(provider::HttpMethod::Post);
        request.headers.push_back({"Content-Type", "application/json"});
        if (is_stateless()) add_mirrors(request, method, *message);
        request.body = base::trim(text);
        send(post, std::move(request));
        if (method == "notifications/initialized") listen();
    }

    void agree_on(std::string_view version) { version_ = version; }

    void abandon() {
        events_ = {};
        authorizer_ = nullptr;
        waiting_.clear();
        for (const auto& post : std::exchange(posts_, {})) stop(*post);
    }

private:
    // Breaks the cycle, too: the exchange holds the post.
    static void stop(Post& post) {
        if (const auto exchange = std::exchange(post.exchange, nullptr)) exchange->cancel();
    }

    bool is_stateless() const { return version_ == kStatelessVersion; }

    provider::HttpRequest request_of(provider::HttpMethod method) const {
        provider::HttpRequest request{.url = server_.url, .method = method};
        request.headers = {{"User-Agent", "holon/" HOLON_VERSION},
                           {"Accept", method == provider::HttpMethod::Get
                                          ? "text/event-stream"
                                          : "application/json, text/event-stream"}};
        for (const auto& [name, value] : server_.headers) request.headers.push_back({name, value});
        if (!version_.empty()) request.headers.push_back({"MCP-Protocol-Version", version_});
        if (!session_id_.empty()) request.headers.push_back({"Mcp-Session-Id", session_id_});
        request.timeouts = {.connect = kConnectWait,
                            .first_byte = kAnswerWait,
                            .idle = kAnswerWait,
                            .total = std::nullopt};
        request.body_bytes_max = kRemoteStreamBytesMax;
        return request;
    }

    static void add_mirrors(provider::HttpRequest& request, const std::string& method,
                            const json::value& message) {
        request.headers.push_back({"Mcp-Method", method});
        const auto* params = base::find(message, "params");
        if (!params || (method != "tools/call" && method != "resources/read")) return;
        request.headers.push_back(
            {"Mcp-Name",
             header_value(base::string_at(*params, method == "tools/call" ? "name" : "uri"))});
    }

    // Sends it, when it is known as whom.
    void send(const std::shared_ptr<Post>& post, provider::HttpRequest request) {
        posts_.insert(post);
        post->request = std::move(request);
        if (!authorizer_ || (is_token_known_ && !is_asking_)) return send_now(post);
        waiting_.push_back(post);
        ask_for_token("");
    }

    void ask_for_token(const std::string& rejected) {
        if (std::exchange(is_asking_, true)) return;
        authorizer_->token(server_, rejected,
                           [self = shared_from_this()](base::Result<std::string> token) {
                               self->on_token(std::move(token));
                           });
    }

    void on_token(base::Result<std::string> token) {
        is_asking_ = false;
        is_token_known_ = true;
        token_ = token.value_or("");
        token_fault_ = token ? "" : token.error().message;
        if (!token && token.error().code == base::ErrorCode::NotFound) token_fault_.clear();
        for (const auto& post : std::exchange(waiting_, {})) {
            if (!posts_.contains(post)) continue;
            if (!post->is_renewed || !token_.empty()) {
                send_now(post);
            } else {
                posts_.erase(post);
                lose(post->id, login_wanted());
            }
        }
    }

    NotStarted login_wanted() const {
        if (!token_fault_.empty()) return {token_fault_};
        return {fmt::format("it wants a login; log in with: holon mcp login {}", server_.name)};
    }

    void send_now(const std::shared_ptr<Post>& post) {
        post->head = {};
        post->events = {};
        post->body.clear();
        post->token = token_;
        auto request = post->request;
        if (!token_.empty()) request.headers.push_back({"Authorization", "Bearer " + token_});
        request.on_head = [self = shared_from_this(), post](const provider::HttpResponse& head) {
            post->head = head;
            self->keep_session_id(head);
        };
        post->exchange = sender_.send(
            std::move(request),
            [self = shared_from_this(), post](std::string_view chunk) {
                self->on_chunk(*post, chunk);
            },
            [self = shared_from_this(), post](const provider::HttpOutcome& outcome) {
                post->exchange.reset();
                if (self->posts_.erase(post) > 0) self->on_end(post, outcome);
            });
    }

    void keep_session_id(const provider::HttpResponse& head) {
        const auto* id = provider::find_header(head.headers, "Mcp-Session-Id");
        if (id && !id->empty() && id->size() <= kSessionIdBytesMax && is_visible(*id))
            session_id_ = *id;
    }

    void on_chunk(Post& post, std::string_view chunk) {
        if (is_event_stream(post.head))
            return post.events.add(chunk, [&](std::string_view data) { deliver(post, data); });
        // One byte more than fits is enough to know that it is too long.
        post.body += chunk.substr(0, kLineBytesMax + 1 - std::min(post.body.size(), kLineBytesMax));
    }

    // A message of the server as a line. Newlines in JSON stand between its parts only.
    void deliver(Post& post, std::string_view text) {
        if (base::trim(text).empty()) return;
        if (post.id && answered_by(text) == post.id) post.id.reset();
        listens_ = 0;
        std::string line(text);
        std::ranges::replace(line, '\n', ' ');
        std::ranges::replace(line, '\r', ' ');
        line += '\n';
        // Copied, since the callee may abandon us.
        if (const auto heard = events_.on_out) heard(line);
    }

    void lose(const std::optional<std::int64_t>& id, const Failure& failure) {
        if (const auto lost = events_.on_lost; lost && id) lost(*id, failure);
    }

    void on_end(const std::shared_ptr<Post>& post, const provider::HttpOutcome& outcome) {
        if (post == listening_) return on_listen_end(outcome);
        if (!outcome) {
            const std::string why = base::printable(base::to_utf8(outcome.error().message));
            // A stream that broke is continued where the server said that it can be.
            if (post->id && resume(post)) return;
            return lose(post->id, Died{why});
        }
        if (provider::find_header(outcome->headers, "Content-Type") && is_event_stream(*outcome) &&
            outcome->status < 300) {
            post->events.finish([&](std::string_view data) { deliver(*post, data); });
            if (!post->id || resume(post)) return;
            return lose(post->id, Died{"its stream of events ended without the answer"});
        }
        if (outcome->status < 300) {
            deliver(*post, post->body);
            return lose(post->id, Died{"its response has no answer"});
        }
        if (outcome->status == kUnauthorized && authorizer_) return on_unauthorized(post);
        on_failure(*post, *outcome);
    }

    // It was not executed, so that it may be sent again with another token.
    void on_unauthorized(const std::shared_ptr<Post>& post) {
        if (std::exchange(post->is_renewed, true))
            return lose(post->id,
                        NotStarted{fmt::format("it refuses the login; log in again: holon mcp "
                                               "login {}",
                                               server_.name)});
        posts_.insert(post);
        if (post->token != token_ && !is_asking_) return send_now(post);
        waiting_.push_back(post);
        ask_for_token(token_);
    }

    // The rights that it wants, in a form that is safe to show and to type.
    static std::string wanted_scope(const provider::HttpResponse& response) {
        const auto* header = provider::find_header(response.headers, "WWW-Authenticate");
        const auto scope = header ? parse_challenge(*header).scope : "";
        const bool is_safe = std::ranges::all_of(scope, [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   std::string_view(" .:/_-").contains(c);
        });
        return is_safe ? scope.substr(0, kShownScopeCharsMax) : "";
    }

    void on_failure(Post& post, const provider::HttpResponse& response) {
        const auto status = response.status;
        if (status == kNotFound && !session_id_.empty() && !is_stateless()) {
            lose(post.id, NotStarted{"its session had ended; the next call begins another"});
            const auto ended = std::exchange(events_, {}).on_end;
            abandon();
            if (ended) ended("its session had ended (HTTP 404)");
            return;
        }
        if (const auto scope = wanted_scope(response);
            status == kForbidden && authorizer_ && !scope.empty())
            return lose(post.id,
                        NotStarted{fmt::format("the login does not allow this; log in for more: "
                                               "holon mcp login {} --scope '{}'",
                                               server_.name, scope)});
        if (status == kUnauthorized || status == kForbidden)
            return lose(post.id,
                        NotStarted{fmt::format("it refuses the credential (HTTP {}); set one with "
                                               "mcp.servers.{}.headers",
                                               status, server_.name)});
        // The server's own words, where it uses those of the protocol.
        if (post.id && answered_by(response.body) == post.id) return deliver(post, response.body);
        if (status >= kServerFault)
            return lose(post.id, Died{fmt::format("it answered HTTP {}", status)});
        lose(post.id, Refused{status, fmt::format("HTTP {}", status)});
    }

    bool resume(const std::shared_ptr<Post>& post) {
        const std::string last = post->events.last_id();
        if (last.empty() || !is_visible(last) || is_stateless() || !events_.on_out ||
            ++post->resumes > kResumesMax)
            return false;
        posts_.insert(post);
        const auto wait = std::min(post->events.retry().value_or(0ms), kListenDelayMax);
        sender_.loop().after(wait, [self = shared_from_this(), post, last] {
            if (self->posts_.erase(post) == 0) return;
            auto request = self->request_of(provider::HttpMethod::Get);
            request.headers.push_back({"Last-Event-ID", last});
            self->send(post, std::move(request));
        });
        return true;
    }

    // What the server says of its own accord comes on a stream of its own, if it has one.
    void listen() {
        listening_ = std::make_shared<Post>();
        auto request = request_of(provider::HttpMethod::Get);
        if (!listen_id_.empty()) request.headers.push_back({"Last-Event-ID", listen_id_});
        send(listening_, std::move(request));
    }

    void on_listen_end(const provider::HttpOutcome& outcome) {
        const bool has_stream = !outcome || (outcome->status < 300 && is_event_stream(*outcome));
        if (!has_stream || ++listens_ > kListensMax) return listening_.reset();
        if (const auto& last = listening_->events.last_id(); is_visible(last)) listen_id_ = last;
        const auto wait =
            std::clamp(listening_->events.retry().value_or(kListenDelayFirst * (1 << listens_)),
                       kListenDelayFirst, kListenDelayMax);
        const auto post = listening_;
        posts_.insert(post);
        sender_.loop().after(wait, [self = shared_from_this(), post] {
            if (self->posts_.erase(post) > 0) self->listen();
        });
    }

    void cancel(std::int64_t id) {
        // What still waits for a token is not sent at all.
        std::erase_if(waiting_,
                      [&](const auto& post) { return post->id == id && posts_.erase(post) > 0; });
        for (const auto& post : posts_)
            if (post->id == id) {
                post->id.reset();
                stop(*post);
            }
    }

    provider::HttpSender sender_;
    const config::McpServer server_;
    ChildEvents events_;
    std::string version_;
    std::string session_id_;
    std::set<std::shared_ptr<Post>> posts_;  // Under way, or waiting to be continued.
    std::shared_ptr<Post> listening_;
    std::string listen_id_;
    int listens_{0};

    Authorizer* authorizer_;  // None: the settings have the credential, or there is no login.
    std::vector<std::shared_ptr<Post>> waiting_;  // For a token.
    std::string token_;                           // Empty: there is no login.
    std::string token_fault_;                     // Why there is a login, and no token.
    bool is_token_known_{false};
    bool is_asking_{false};
};

class RemoteChild final : public Child {
public:
    explicit RemoteChild(std::shared_ptr<Remote> remote) : remote_(std::move(remote)) {}
    ~RemoteChild() override { remote_->abandon(); }
    RemoteChild(const RemoteChild&) = delete;
    RemoteChild& operator=(const RemoteChild&) = delete;
    bool write(std::string_view message) override {
        remote_->write(message);
        return true;
    }
    void agree_on(std::string_view version) override { remote_->agree_on(version); }

private:
    std::shared_ptr<Remote> remote_;
};

}  // namespace

std::string header_value(std::string_view value) {
    const bool is_safe = !value.empty() && value == base::trim(value) &&
                         std::ranges::all_of(value, [](char c) { return c >= 0x20 && c <= 0x7e; });
    const bool looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    return is_safe && !looks_encoded ? std::string(value)
                                     : "=?base64?" + scan::base64(value) + "?=";
}

std::unique_ptr<Child> remote_child(provider::HttpClient& http, const config::McpServer& server,
                                    ChildEvents events, Authorizer* authorizer) {
    return std::make_unique<RemoteChild>(
        std::make_shared<Remote>(http, server, std::move(events), authorizer));
}

}  // namespace mcp
