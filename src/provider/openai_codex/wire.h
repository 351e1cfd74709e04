// The Codex form of the Responses format. Pure; its events are those of openai_responses/stream.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider::openai_codex {

// What this transport makes of a frame.
inline constexpr std::array kCapabilities{PromptCapability::FullRequestOnly,
                                          PromptCapability::PromptCacheKey};

// Where to POST: <base>/codex/responses, with neither part twice.
std::string endpoint_url(std::string_view base_url);

// The body. It never holds max_output_tokens, and always `reasoning` and `include`.
json::object encode_request(const Request& request, const std::optional<std::string>& effort);

json::object request_diagnostics(const Request& request, const std::optional<std::string>& effort);

// The failure that a response other than 2xx means.
Failure parse_refusal(const HttpResponse& response, base::Time now);

}  // namespace provider::openai_codex
