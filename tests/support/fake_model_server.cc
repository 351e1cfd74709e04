#include "tests/support/fake_model_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/result.h"
#include "base/text.h"

namespace test_support {
namespace {

void signal_event(const base::Fd& event) {
    const std::uint64_t one = 1;
    CHECK(write(event.get(), &one, sizeof one) == sizeof one, "eventfd");
}

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

json::value completion(json::object message, std::string_view finish_reason) {
    message["role"] = "assistant";
    json::object choice{{"index", 0}, {"finish_reason", std::string(finish_reason)}};
    choice["message"] = std::move(message);
    return {{"id", "chatcmpl-1"},
            {"object", "chat.completion"},
            {"choices", json::array{std::move(choice)}},
            {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 5}, {"total_tokens", 15}}}};
}

json::value message_item(std::string_view text) {
    return {
        {"type", "message"},
        {"id", "msg_1"},
        {"status", "completed"},
        {"role", "assistant"},
        {"content", {{{"type", "output_text"}, {"text", text}, {"annotations", json::array()}}}}};
}

json::value call_item(std::string_view tool, std::string_view arguments, std::string_view id) {
    return {{"type", "function_call"}, {"id", "fc_1"}, {"status", "completed"},
            {"call_id", id},           {"name", tool}, {"arguments", arguments}};
}

json::value response_document(json::array output, std::string_view id) {
    return {{"id", id},
            {"object", "response"},
            {"status", "completed"},
            {"error", nullptr},
            {"output", std::move(output)},
            {"usage", {{"input_tokens", 10}, {"output_tokens", 5}, {"total_tokens", 15}}}};
}

json::value completed_event(json::array output) {
    return {{"type", "response.completed"},
            {"response", response_document(std::move(output), "resp_1")}};
}

std::vector<json::value> streamed_text(std::string_view text) {
    std::vector<json::value> events{{{"type", "response.created"},
                                     {"response", {{"id", "resp_1"}, {"status", "in_progress"}}}}};
    for (std::size_t at = 0; at < text.size(); at += 5)
        events.push_back({{"type", "response.output_text.delta"}, {"delta", text.substr(at, 5)}});
    events.push_back({{"type", "response.output_item.done"}, {"item", message_item(text)}});
    events.push_back(completed_event({}));
    return events;
}

json::value chat_piece(json::object delta, json::value finish_reason) {
    json::object choice{{"index", 0}, {"finish_reason", std::move(finish_reason)}};
    choice["delta"] = std::move(delta);
    json::object piece{{"id", "c-1"}, {"object", "chat.completion.chunk"}};
    piece["choices"] = json::array{std::move(choice)};
    return piece;
}

// Only `data` lines, and an end that is no JSON.
ServerReply chat_stream(std::vector<json::value> pieces) {
    pieces.push_back({{"id", "c-1"},
                      {"choices", json::array()},
                      {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 5}}}});
    ServerReply reply{.headers = {{"Content-Type", "text/event-stream"}}};
    for (const auto& piece : pieces)
        reply.body += fmt::format("data: {}\n\n", base::json_text(piece));
    reply.body += "data: [DONE]\n\n";
    return reply;
}

std::vector<std::string> in_pieces(std::string_view text) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += 5) pieces.emplace_back(text.substr(at, 5));
    return pieces;
}

ServerReply messages_stream(json::value block, std::string_view delta_type,
                            std::string_view delta_name, const std::vector<std::string>& pieces,
                            std::string_view stop_reason) {
    std::vector<json::value> events{
        {{"type", "message_start"},
         {"message", {{"id", "msg_1"}, {"usage", {{"input_tokens", 10}, {"output_tokens", 1}}}}}},
        {{"type", "content_block_start"}, {"index", 0}, {"content_block", std::move(block)}},
        {{"type", "ping"}}};
    for (const auto& piece : pieces)
        events.push_back({{"type", "content_block_delta"},
                          {"index", 0},
                          {"delta", {{"type", delta_type}, {delta_name, piece}}}});
    events.push_back({{"type", "content_block_stop"}, {"index", 0}});
    events.push_back({{"type", "message_delta"},
                      {"delta", {{"stop_reason", stop_reason}}},
                      {"usage", {{"output_tokens", 5}}}});
    events.push_back({{"type", "message_stop"}});
    return streams(events);
}

json::value messages_reply(json::array content, std::string_view stop_reason) {
    return {{"id", "msg_1"},
            {"type", "message"},
            {"role", "assistant"},
            {"content", std::move(content)},
            {"stop_reason", stop_reason},
            {"usage", {{"input_tokens", 10}, {"output_tokens", 5}}}};
}

}  // namespace

ServerReply says(std::string_view text, Contract contract) {
    switch (contract) {
        case Contract::ChatCompletions:
            return with_body(base::json_text(completion({{"content", text}}, "stop")));
        case Contract::Responses:
            return responds({message_item(text)});
        case Contract::CodexStream:
            return streams(streamed_text(text));
        case Contract::Messages:
            return with_body(
                base::json_text(messages_reply({{{"type", "text"}, {"text", text}}}, "end_turn")));
        case Contract::ChatStream: {
            std::vector<json::value> pieces{
                chat_piece({{"role", "assistant"}, {"content", ""}}, nullptr)};
            for (const auto& part : in_pieces(text))
                pieces.push_back(chat_piece({{"content", part}}, nullptr));
            pieces.push_back(chat_piece({}, "stop"));
            return chat_stream(std::move(pieces));
        }
        case Contract::MessagesStream:
            return messages_stream({{"type", "text"}, {"text", ""}}, "text_delta", "text",
                                   in_pieces(text), "end_turn");
    }
    std::unreachable();
}

ServerReply calls(std::string_view tool, std::string_view arguments, std::string_view id,
                  Contract contract) {
    switch (contract) {
        case Contract::ChatCompletions:
            return with_body(base::json_text(
                completion({{"content", nullptr},
                            {"tool_calls",
                             {{{"id", id},
                               {"type", "function"},
                               {"function", {{"name", tool}, {"arguments", arguments}}}}}}},
                           "tool_calls")));
        case Contract::Responses:
            return responds({call_item(tool, arguments, id)});
        case Contract::CodexStream:
            return streams(
                {{{"type", "response.output_item.done"}, {"item", call_item(tool, arguments, id)}},
                 completed_event({})});
        case Contract::Messages: {
            const auto input = base::parse_json(arguments);
            return with_body(base::json_text(
                messages_reply({{{"type", "tool_use"},
                                 {"id", id},
                                 {"name", tool},
                                 {"input", input ? *input : json::value(arguments)}}},
                               "tool_use")));
        }
        case Contract::ChatStream: {
            const auto piece = [](json::object call) {
                return chat_piece({{"tool_calls", json::array{std::move(call)}}}, nullptr);
            };
            std::vector<json::value> pieces{
                piece({{"index", 0},
                       {"id", id},
                       {"type", "function"},
                       {"function", {{"name", tool}, {"arguments", ""}}}})};
            for (const auto& part : in_pieces(arguments))
                pieces.push_back(piece({{"index", 0}, {"function", {{"arguments", part}}}}));
            pieces.push_back(chat_piece({}, "tool_calls"));
            return chat_stream(std::move(pieces));
        }
        case Contract::MessagesStream:
            return messages_stream(
                {{"type", "tool_use"}, {"id", id}, {"name", tool}, {"input", json::object()}},
                "input_json_delta", "partial_json", in_pieces(arguments), "tool_use");
    }
    std::unreachable();
}

ServerReply responds(json::array output, std::string_view id) {
    return with_body(base::json_text(response_document(std::move(output), id)));
}

ServerReply streams(const std::vector<json::value>& events) {
    ServerReply reply{.headers = {{"Content-Type", "text/event-stream"}}};
    for (const auto& event : events)
        reply.body += fmt::format("event: {}\ndata: {}\n\n", base::string_at(event, "type"),
                                  base::json_text(event));
    return reply;
}

ServerReply status_reply(int status, std::string_view message) {
    return {.status = status, .body = std::string(message), .headers = {}};
}

ServerReply error_reply(int status, std::string_view type, std::string_view code) {
    const json::value body{{"error",
                            {{"message", "scripted failure"},
                             {"type", std::string(type)},
                             {"code", std::string(code)}}}};
    return {.status = status, .body = base::json_text(body)};
}

ServerReply rate_limited(std::optional<std::string> retry_after) {
    ServerReply reply = error_reply(429, "rate_limit_error", "rate_limit_exceeded");
    if (retry_after) reply.headers.emplace_back("Retry-After", std::move(*retry_after));
    return reply;
}

ServerReply with_body(std::string body) {
    return {.body = std::move(body)};
}

ServerReply wrong_content_type() {
    return {.body = "<html>It works!</html>", .headers = {{"Content-Type", "text/html"}}};
}

ServerReply oversized(std::size_t bytes) {
    return with_body(std::string(bytes, ' '));
}

ServerReply resets() {
    return {.reset = true};
}

ServerReply hangs() {
    ServerReply reply = says("late");
    reply.hang = true;
    return reply;
}

FakeModelServer::FakeModelServer()
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      release_(eventfd(0, EFD_CLOEXEC)),
      otherwise_(status_reply(500, "no reply was scripted")) {
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    CHECK(bind(listener_.get(), generic, size) == 0, "no loopback port to bind");
    CHECK(listen(listener_.get(), SOMAXCONN) == 0, "listen");
    CHECK(getsockname(listener_.get(), generic, &size) == 0, "getsockname");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
}

FakeModelServer::~FakeModelServer() {
    signal_event(stop_);
    acceptor_.join();
    connections_.clear();
}

void FakeModelServer::enqueue(ServerReply reply) {
    const std::lock_guard lock(mutex_);
    replies_.push_back(std::move(reply));
}

void FakeModelServer::always(ServerReply reply) {
    const std::lock_guard lock(mutex_);
    otherwise_ = std::move(reply);
}

void FakeModelServer::release() {
    signal_event(release_);
}

std::string FakeModelServer::base_url() const {
    return fmt::format("http://127.0.0.1:{}", port_);
}

std::vector<RecordedRequest> FakeModelServer::requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
}

std::size_t FakeModelServer::request_count() const {
    const std::lock_guard lock(mutex_);
    return requests_.size();
}

bool FakeModelServer::wait_for_requests(std::size_t count, std::chrono::milliseconds limit) const {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, limit, [&] { return requests_.size() >= count; });
}

std::size_t FakeModelServer::disconnect_count() const {
    const std::lock_guard lock(mutex_);
    return disconnects_;
}

void FakeModelServer::accept_all() {
    for (int connection = 1;; ++connection) {
        std::array<pollfd, 2> waits{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
        if (poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
        base::Fd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client) return;
        const int at_once = 1;  // Else a body waits 40 ms for the acknowledgement of its header.
        setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
        connections_.emplace_back([this, connection, client = std::move(client)]() mutable {
            serve(std::move(client), connection);
        });
    }
}

void FakeModelServer::serve(base::Fd client, int connection) {
    std::string buffer;
    RecordedRequest request{.connection = connection};
    while (read_request(client.get(), buffer, request)) {
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(std::exchange(request, {.connection = connection}));
        }
        arrived_.notify_all();
        if (!answer(client, next_reply())) return;
    }
}

bool FakeModelServer::read_request(int client, std::string& buffer, RecordedRequest& request) {
    std::size_t body_start = 0;
    std::size_t body_size = 0;
    while (body_start == 0 || buffer.size() < body_start + body_size) {
        std::array<pollfd, 2> waits{{{client, POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
        if (poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return false;
        std::array<char, 65536> chunk;
        const ssize_t got = recv(client, chunk.data(), chunk.size(), 0);
        if (got <= 0) return false;
        buffer.append(chunk.data(), static_cast<std::size_t>(got));
        const std::size_t end = buffer.find("\r\n\r\n");
        if (body_start != 0 || end == buffer.npos) continue;
        body_start = end + 4;
        const auto lines = base::split_lines(std::string_view(buffer).substr(0, end));
        const std::string_view first = base::trim(lines[0]);
        request.method = first.substr(0, first.find(' '));
        request.path = first.substr(request.method.size() + 1);
        request.path.resize(request.path.find(' '));
        for (const auto line : lines) {
            const std::size_t colon = line.find(':');
            if (line == lines[0] || colon == line.npos) continue;
            request.headers[lower(line.substr(0, colon))] = base::trim(line.substr(colon + 1));
        }
        if (request.headers.contains("content-length"))
            body_size = std::stoul(request.headers["content-length"]);
    }
    request.body = buffer.substr(body_start, body_size);
    buffer.erase(0, body_start + body_size);
    return true;
}

ServerReply FakeModelServer::next_reply() {
    const std::lock_guard lock(mutex_);
    if (replies_.empty()) return otherwise_;
    ServerReply reply = std::move(replies_.front());
    replies_.pop_front();
    return reply;
}

// True when the connection can take the next request.
bool FakeModelServer::answer(base::Fd& client, const ServerReply& reply) {
    if (reply.hang && !wait_for_release(client.get())) return false;
    const auto reset = [&] {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        client.reset();
        return false;
    };
    if (reply.reset && !reply.truncate_after) return reset();
    std::string head = fmt::format("HTTP/1.1 {} Scripted\r\nContent-Length: {}\r\n", reply.status,
                                   reply.body.size());
    for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
    std::string_view body = reply.body;
    if (!send_all(client.get(), head + "\r\n")) return false;
    if (reply.truncate_after) {
        send_all(client.get(), body.substr(0, *reply.truncate_after));
        return reply.reset && reset();
    }
    while (reply.drip_bytes > 0 && body.size() > reply.drip_bytes) {
        if (!send_all(client.get(), body.substr(0, reply.drip_bytes))) return false;
        body.remove_prefix(reply.drip_bytes);
        if (!pause(reply.drip_pause)) return false;
    }
    if (reply.last_byte_delay > 0ms && !body.empty()) {
        if (!send_all(client.get(), body.substr(0, body.size() - 1))) return false;
        body.remove_prefix(body.size() - 1);
        if (!pause(reply.last_byte_delay)) return false;
    }
    return send_all(client.get(), body);
}

bool FakeModelServer::pause(std::chrono::milliseconds time) {
    pollfd wait{stop_.get(), POLLIN, 0};
    return poll(&wait, 1, static_cast<int>(time.count())) == 0;
}

bool FakeModelServer::wait_for_release(int client) {
    std::array<pollfd, 3> waits{
        {{client, POLLIN | POLLRDHUP, 0}, {stop_.get(), POLLIN, 0}, {release_.get(), POLLIN, 0}}};
    poll(waits.data(), waits.size(), -1);
    if (waits[0].revents != 0) {
        const std::lock_guard lock(mutex_);
        ++disconnects_;
        return false;
    }
    return waits[1].revents == 0;
}

}  // namespace test_support
