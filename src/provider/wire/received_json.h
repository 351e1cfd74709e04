// JSON as model APIs really send it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace provider {

// Parses one document. Bytes that are not UTF-8, and escapes of half a surrogate pair, become
// U+FFFD: a model that cut a character in two must not cost the whole reply.
base::Result<json::value> parse_received_json(std::string_view bytes);

// The text with those two faults repaired.
std::string repair_json_text(std::string_view bytes);

// `error` when it can explain a failure, as an object or as text; null for anything else.
const json::value* usable_error(const json::value* error);

// The part of a document that explains a failure; null when there is none. That is `error`, of the
// document or of the first entry of a list (Gemini); where a server has no such member, `detail`
// (FastAPI) or the document itself (vLLM), if it was not sent as a success.
const json::value* error_in(const json::value& document, bool is_success);

// What a usable error says to people: its text, its `message` or its `msg`; may be empty.
std::string error_text(const json::value& error);

}  // namespace provider
