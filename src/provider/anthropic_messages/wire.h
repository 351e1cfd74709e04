// The Anthropic Messages format: what goes out, and what is read from what comes back. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

// Asks the server to forget old tool results in a long conversation. What the runtime stores and
// sends does not change by it.
struct ContextManagement {
    std::int64_t trigger_input_tokens{100'000};
    std::int64_t keep_recent_tool_uses{3};
    std::optional<std::int64_t> clear_at_least_input_tokens{};
    std::vector<std::string> exclude_tools{"ApplyPatch", "NotifyOperator"};
};

}  // namespace provider

namespace provider::anthropic_messages {

inline constexpr std::string_view kContextManagementBeta = "context-management-2025-06-27";

// What this transport makes of a frame; with ContextManagement it has that capability as well.
inline constexpr std::array kCapabilities{PromptCapability::FullRequestOnly,
                                          PromptCapability::PromptCacheBlocks};

// Where to POST: <base>/v1/messages, with neither part twice.
std::string endpoint_url(std::string_view base_url);

// The body. The server is asked to cache at the breakpoints of the frame, at the last three of them
// when there are more, and at the last block of the conversation that can be cached, which moves
// with every request. `messages` goes last, so that a longer conversation only adds bytes, but for
// that mark.
json::object encode_request(const Request& request,
                            const std::optional<ContextManagement>& context = std::nullopt,
                            bool stream = false);

// How the request was lowered, in counts and sizes only. `body` is what encode_request() gave.
json::object request_diagnostics(const Request& request, const json::object& body,
                                 const std::optional<ContextManagement>& context = std::nullopt);

// The reply in `response`, or why there is none. Never throws, whatever the bytes. A reply without
// a word is one, too, if it says why it stopped.
Outcome parse_response(const HttpResponse& response, base::Time now);

// The reply in a whole message; `seed` is what made-up call ids follow from. The error is a
// sentence.
std::expected<Reply, std::string> read_message(const json::value& document, std::string_view seed);

// The failure that an `error` event within a stream means.
Failure stream_failure(const json::value* error);

}  // namespace provider::anthropic_messages
