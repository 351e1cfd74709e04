// Which handler answers a request. One table, which the OpenAPI document is made of, too.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "surfaces/http/server/access.h"
#include "surfaces/http/server/exchange.h"
#include "surfaces/http/server/server.h"

namespace http_surface {

// What handlers work with. They run on threads of the pool and may block.
struct Context {
    service::Service& service;
    service::Settings& settings;
    service::Gate* gate;
    const RuntimeFacts& facts;
    const Options& options;
    const std::function<void()>& request_shutdown;
    const std::function<std::string()>& metrics_text;
    service::Plans* plans{nullptr};
    service::McpLive* mcp{nullptr};
};

enum class BodyRule { None, Json, Bytes };

struct QueryDoc {
    std::string_view name;
    std::string_view text;
    std::string_view schema;  // JSON text.
};

struct Route {
    Method method{Method::Get};
    std::string_view pattern;  // "/agents/{agent_id}/status"
    Guard guard{Guard::Token};
    bool is_replay{false};  // Hands out history.
    BodyRule body{BodyRule::None};
    std::string_view summary{};
    base::Result<Response> (*handle)(const Context&, const Request&){nullptr};
    json::object (*request_schema)(){nullptr};
    json::object (*response_schema)(){nullptr};  // Null: plain text or a stream.
    std::span<const QueryDoc> query{};
    bool supported{true};     // False: answers 501.
    bool is_snapshot{false};  // Its answer is valid until the agent's next event.
};

// All routes, in no particular order.
std::span<const Route> routes();
std::span<const Route> plan_routes();  // Those of plans, which routes() has, too.

struct Matched {
    const Route* route{nullptr};
    std::map<std::string, std::string, std::less<>> params;
};
struct NoRoute {};
struct WrongMethod {
    std::string allow;  // The value of the Allow header.
};
using Match = std::variant<Matched, NoRoute, WrongMethod>;

// HEAD matches where GET does.
Match match(std::span<const Route> routes, Method method, std::string_view path);

// Percent-decoding; fails on a broken escape, a NUL or what is not UTF-8 then.
base::Result<std::string> decode_percent(std::string_view text, bool plus_is_space);

// Fails on a broken escape, a repeated key, or more than kQueryKeysMax of them.
inline constexpr std::size_t kQueryKeysMax = 32;
using Query = std::map<std::string, std::string, std::less<>>;
base::Result<Query> parse_query(std::string_view query);

// A key of the query that the route does not know; empty when it knows all. External systems may
// add some of their own to a capability URL.
std::string unknown_key(const Route& route, const Query& query);

// The route's answer. Catches what a handler throws: one request fails, the program lives.
Response answer(const Context& context, const Route& route, const Request& request);

}  // namespace http_surface
