// The Chat Completions format: what goes out, and what is read from what comes back. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider::chat_completions {

// Where to POST: a base that ends in /chat/completions is taken as it is, one that ends in a
// version
// (/v1, /v4) gets the path, any other gets /v1 and the path.
std::string endpoint_url(std::string_view base_url);

// The body. Tools go out in the relaxed form. Thinking is not sent.
json::object encode_request(const Request& request);

// How the request was lowered, for Reply::request_diagnostics.
json::object request_diagnostics(const Request& request);

// The reply in `response`, or why there is none. `now` is for a Retry-After that is a date. Never
// throws, whatever the bytes. Calls without an id, or with one that was used before in the same
// reply, get one that follows from the body. Diagnostics lack what only the caller knows: the URL,
// provider and model.
Outcome parse_response(const HttpResponse& response, base::Time now);

}  // namespace provider::chat_completions
