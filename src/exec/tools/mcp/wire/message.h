// JSON-RPC 2.0 as MCP uses it, one message per line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace mcp {

inline constexpr std::int64_t kMethodNotFound = -32601;
inline constexpr std::int64_t kInvalidParams = -32602;

// The revisions that begin with a handshake, the one we request first.
inline constexpr std::string_view kProtocolVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                         "2024-11-05"};
bool is_known_version(std::string_view version);
// The revision without one: each request says its revision, and there are no sessions. A server
// that knows no handshake is asked for it.
inline constexpr std::string_view kStatelessVersion = "2026-07-28";

// An answer to a request of ours.
struct Reply {
    std::int64_t id{0};
    json::object result;
    friend bool operator==(const Reply&, const Reply&) = default;
};
struct ErrorReply {
    std::int64_t id{0};
    std::int64_t code{0};
    std::string message;
    friend bool operator==(const ErrorReply&, const ErrorReply&) = default;
};
// A request of the server's, to be answered with its own id.
struct Request {
    json::value id;
    std::string method;
    json::object params{};
    friend bool operator==(const Request&, const Request&) = default;
};
struct Notification {
    std::string method;
    json::object params;
    friend bool operator==(const Notification&, const Notification&) = default;
};
// Not a message, and why.
struct Garbage {
    std::string reason;
    friend bool operator==(const Garbage&, const Garbage&) = default;
};
using Message = std::variant<Reply, ErrorReply, Request, Notification, Garbage>;

// Messages of one batch; more are Garbage.
inline constexpr std::size_t kBatchMax = 64;

// What a line says: one message, or several where the revision of 2025-03-26 sends them as a list.
std::vector<Message> decode(std::string_view line);

// The params of a request in the revision without a handshake.
json::object with_client(json::object params, json::object capabilities = {});
json::object client_info();

// Each ends with its newline.
std::string request(std::int64_t id, std::string_view method, json::object params);
std::string notification(std::string_view method, json::object params);
std::string answer(const json::value& id, json::object result);
std::string refusal(const json::value& id, std::int64_t code, std::string_view message);

}  // namespace mcp
