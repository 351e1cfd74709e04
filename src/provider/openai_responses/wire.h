// The OpenAI Responses format: what goes out, and what is read from what comes back. Pure. The
// Codex transport speaks the same items in another frame.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"
#include "provider/wire/schema_emission.h"

namespace provider::openai_responses {

// What this transport makes of a frame.
inline constexpr std::array kCapabilities{PromptCapability::FullRequestOnly,
                                          PromptCapability::PromptCacheKey};

// Where to POST: <base>/responses, once.
std::string endpoint_url(std::string_view base_url);

// How a tool that takes a patch is offered: as a function with one argument, or as free text under
// a grammar.
enum class PatchForm { Function, Freeform };

// Leaves out tools whose schema cannot be expressed; Strict fails instead.
base::Result<json::array> encode_tools(const Tools& tools, PatchForm form,
                                       SchemaMode mode = SchemaMode::Relaxed);

// The conversation as items. A call and its result have the form in which their tool is declared in
// this request. Thinking is not sent, nor is empty text.
json::array encode_input(const Request& request, PatchForm form);

// The body without `input`, which goes last so that a longer conversation only adds bytes.
json::object encode_frame(const Request& request,
                          const std::optional<std::string>& effort = std::nullopt);
// The part of it that Codex shares.
json::object encode_common_frame(const Request& request, PatchForm form);

struct Answer {
    Reply reply;
    // Names the response for a continuation; empty when the server gave no id, or when a call's id
    // is ours and the server would not know it.
    std::string response_id;
};

// Reads a response object whose items are `output`. Calls without a usable id get one that follows
// from `seed`. The error is a sentence.
std::expected<Answer, std::string> read_response(const json::value& response,
                                                 const json::array& output, std::string_view seed);

// The answer in `response`, or why there is none. Never throws, whatever the bytes.
std::expected<Answer, Failure> parse_response(const HttpResponse& response, base::Time now);

// Whether an error, as a server words it, is about the previous response: it names the field, or
// the id that was sent in it.
bool names_previous_response(std::string_view error, std::string_view id);

// Whether the server refused because it does not know, or not take, the previous response `id`: any
// 4xx that names it, whatever the form of its body.
bool refuses_previous_response(const HttpResponse& response, std::string_view id);

std::optional<domain::TokenUsage> read_usage(const json::value& response);

}  // namespace provider::openai_responses
