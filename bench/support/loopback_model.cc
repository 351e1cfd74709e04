#include "bench/support/loopback_model.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/json.h"

namespace bench {
namespace {

std::string completion(json::object message, std::string_view finish_reason) {
    message["role"] = "assistant";
    json::object choice{{"index", 0}, {"finish_reason", finish_reason}};
    choice["message"] = std::move(message);
    return base::json_text(
        {{"id", "chatcmpl-1"},
         {"object", "chat.completion"},
         {"choices", json::array{std::move(choice)}},
         {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 5}, {"total_tokens", 15}}}});
}

// Where the request at the start of `bytes` ends; empty while its head is not complete.
std::optional<std::size_t> request_end(std::string_view bytes) {
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t head_end = bytes.find("\r\n\r\n");
    if (head_end == bytes.npos) return std::nullopt;
    const std::size_t field = bytes.substr(0, head_end).find(kLength);
    CHECK(field != bytes.npos, "a request says how long it is");
    std::size_t length = 0;
    std::from_chars(bytes.data() + field + kLength.size(), bytes.data() + head_end, length);
    return head_end + 4 + length;
}

// The next request, taken off the front of `buffer`; empty when the client has gone.
std::optional<std::string> read_request(int client, std::string& buffer) {
    std::array<char, 65536> chunk;
    while (true) {
        const auto end = request_end(buffer);
        if (end && buffer.size() >= *end) {
            std::string request = buffer.substr(0, *end);
            buffer.erase(0, *end);
            return request;
        }
        const ssize_t got = ::recv(client, chunk.data(), chunk.size(), 0);
        if (got <= 0) return std::nullopt;
        buffer.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace

std::string calls(std::string_view tool, const std::string& arguments_json, int times) {
    json::array list;
    for (int n = 0; n < times; ++n) {
        json::object call{{"id", fmt::format("call_{}", n)}, {"type", "function"}};
        call["function"] = {{"name", tool}, {"arguments", arguments_json}};
        list.push_back(std::move(call));
    }
    return completion({{"content", nullptr}, {"tool_calls", std::move(list)}}, "tool_calls");
}

std::string says(std::string_view text) {
    return completion({{"content", text}}, "stop");
}

LoopbackModel::LoopbackModel() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_.get(), generic, size) == 0, "a loopback port can be bound");
    CHECK(::listen(listener_.get(), SOMAXCONN) == 0, "a loopback port can be listened on");
    CHECK(::getsockname(listener_.get(), generic, &size) == 0, "the port can be read");
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { accept_all(); });
}

LoopbackModel::~LoopbackModel() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // Ends the accept(); clients have gone by now.
}

void LoopbackModel::script(std::deque<std::string> bodies) {
    const std::lock_guard lock(mutex_);
    bodies_ = std::move(bodies);
    rounds_.clear();
}

void LoopbackModel::answer_with(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
}

std::vector<Round> LoopbackModel::rounds() const {
    const std::lock_guard lock(mutex_);
    return rounds_;
}

std::string LoopbackModel::base_url() const {
    return fmt::format("http://127.0.0.1:{}/v1", port_);
}

void LoopbackModel::accept_all() {
    while (true) {
        base::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client) return;
        const int at_once = 1;
        ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
        connections_.emplace_back([this, client = std::move(client)] { serve(client.get()); });
    }
}

void LoopbackModel::serve(int client) {
    std::string buffer;
    while (const auto request = read_request(client, buffer)) {
        const auto asked = Steady::now();
        const std::string body = next_body(*request);
        const std::string answer = fmt::format(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            "Content-Length: {}\r\n\r\n{}",
            body.size(), body);
        {
            const std::lock_guard lock(mutex_);
            rounds_.push_back({asked, Steady::now(), request->size()});
        }
        // An answer fits the socket's buffer, so one call sends all of it.
        const ssize_t sent = ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
        if (sent != std::ssize(answer)) return;
    }
}

std::string LoopbackModel::next_body(std::string_view request) {
    std::unique_lock lock(mutex_);
    if (const Answer answer = answer_) {
        lock.unlock();
        return answer(request.substr(request.find("\r\n\r\n") + 4));
    }
    if (bodies_.empty()) return says("done");
    std::string body = std::move(bodies_.front());
    bodies_.pop_front();
    return body;
}

}  // namespace bench
