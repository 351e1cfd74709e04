// The Codex form of the Responses format: its frame, and its events. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider::openai_codex {

inline constexpr std::size_t kOutputItemsMax = 128;

// Where to POST: <base>/codex/responses, with neither part twice.
std::string endpoint_url(std::string_view base_url);

// The body. It never holds max_output_tokens, and always `reasoning` and `include`.
json::object encode_request(const Request& request, const std::optional<std::string>& effort);

json::object request_diagnostics(const Request& request, const std::optional<std::string>& effort);

// Collects the events of one response until one of them ends it.
class StreamReader {
public:
    // What an event brought: text to show, or the end. An event that ends it in a failure changes
    // nothing here, so it may be given again, with a secret hidden. Never throws.
    struct Step {
        std::string text_delta{};
        std::optional<Outcome> end{};
    };
    Step take(std::string_view data);

    // Why a stream that stops here is no answer. `head` is the response without its body.
    Failure broken_off(const HttpResponse& head) const;

private:
    Outcome finish(const json::value& response) const;

    json::array items_;  // Of response.output_item.done, in order.
    bool seen_event_{false};
};

// The failure that a response other than 2xx means.
Failure parse_refusal(const HttpResponse& response, base::Time now);

}  // namespace provider::openai_codex
