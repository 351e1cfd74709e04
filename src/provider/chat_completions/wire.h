// The Chat Completions format: what goes out, and what is read from what comes back. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider::chat_completions {

// Where to POST: a base that ends in /chat/completions is taken as it is, one that ends in a
// version (/v1, /v4) gets the path, any other gets /v1 and the path.
std::string endpoint_url(std::string_view base_url);

// What this transport makes of a frame.
inline constexpr std::array kCapabilities{PromptCapability::FullRequestOnly,
                                          PromptCapability::PromptCacheKey};

// The body, with everything that some server takes: what this one takes of it is for
// provider/http/adapt.h. Tools go out in the relaxed form. Thinking without a signature goes out as
// `reasoning_content` of its message. A streamed answer is asked to report its usage.
json::object encode_request(const Request& request, bool stream = false,
                            const std::optional<std::string>& effort = std::nullopt);

// How the request was lowered, for Reply::request_diagnostics.
json::object request_diagnostics(const Request& request);

// The reply in `response`, or why there is none. `now` is for a Retry-After that is a date. Never
// throws, whatever the bytes. Calls without an id, or with one that was used before in the same
// reply, get one that follows from the body. Diagnostics lack what only the caller knows: the URL,
// provider and model.
Outcome parse_response(const HttpResponse& response, base::Time now);

// The text and the thinking in the content of a message or of a piece of one: a text, or a list of
// parts.
struct Content {
    std::string text;
    std::string reasoning;
    // Appends; false when `content` is neither. Null and nothing are empty.
    bool add(const json::value* content);
};
// The thinking that servers put into a member of its own; empty when there is none.
std::string reasoning_in(const json::value& message);

// Where a document came from, for the diagnostics of a failure.
struct Source {
    std::string_view stage;
    std::int64_t status{0};
};
// The reply in a whole document; `seed` is what made-up call ids follow from.
Outcome read_completion(const json::value& document, const Source& source, std::string_view seed);

}  // namespace provider::chat_completions
