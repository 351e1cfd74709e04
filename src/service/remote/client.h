// Requests to a runtime that runs elsewhere: over its Unix socket, else over TCP.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "service/list.h"

namespace service {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kConnectTimeout = 2s;
inline constexpr std::chrono::milliseconds kAnswerTimeout = 30s;
inline constexpr std::chrono::milliseconds kQuietStreamTimeout = 45s;  // Three missed heartbeats.
inline constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

// Where a runtime is. With both, the socket is tried first.
struct Address {
    std::optional<std::filesystem::path> socket{};
    std::string url{};    // http://host:port, without a trailing slash; empty: the socket only.
    std::string token{};  // A secret. Sent over TCP only: the socket is guarded by its mode.
    std::optional<std::filesystem::path> ca_file{};  // For https, besides the system's.
};

enum class Method { Get, Post };

struct Request {
    Method method{Method::Get};
    std::string path;    // With its query, percent-encoded.
    std::string body{};  // POST only.
    std::string content_type{"application/json"};
    std::chrono::milliseconds timeout{kAnswerTimeout};
    std::stop_token stop{};  // Ends the request within about a second, as if the connection broke.
};

struct Answer {
    json::value body;
    std::string next{};  // Of a list: where its next part begins, see list.h.
};

// Any thread may use one; a call blocks for the answer. Each request goes out once: TCP is tried
// only when the socket could not be reached, and never after a byte was sent there.
class Client {
public:
    explicit Client(Address address);

    // The body of a 2xx answer. No daemon is Unavailable (kind runtime_unreachable); any other
    // answer is the error that it names, with its code as kind and its members as details.
    base::Result<json::value> ask(const Request& request) const;
    // A part of the list at `path`, which may have a query.
    base::Result<Answer> list(std::string path, const ListQuery& query,
                              std::chrono::milliseconds timeout = kAnswerTimeout) const;
    base::Result<json::value> get(std::string path) const;
    base::Result<json::value> post(std::string path, const json::value& body) const;

    const Address& address() const { return address_; }

private:
    base::Result<Answer> answer(const Request& request) const;

    Address address_;
};

inline constexpr std::string_view kUnreachable = "runtime_unreachable";
inline constexpr std::string_view kWrongToken = "wrong_token";
inline constexpr std::string_view kTokenMissing = "token_missing";

// The error of an answer that is no success. Pure.
base::Error answer_error(long status, std::string_view body, bool token_was_sent);

// The error for a 2xx answer that cannot be decoded: `what` was requested, `why` it failed.
std::unexpected<base::Error> unreadable_answer(std::string_view what, const std::string& why);

}  // namespace service
