// The error objects of OpenAI and of the servers that copy them. Pure.
#pragma once

#include "base/json.h"
#include "provider/provider.h"

namespace provider {

// What kind of failure a response with `status` and the error object (or text) `error` is. The name
// that the body gives decides, with four limits. A prompt too long is that under any status, and
// servers that lack the code say it in words. A status that may pass (5xx, 408, 409, 425) stays
// what it is, as bodies of overloaded gateways are not to be trusted, and so does a rejected
// credential. A 429 stays a rate limit unless its code says that there is no money left, which
// waiting does not cure. An error within a success, in a stream above all, may pass unless its name
// says otherwise.
FailureKind kind_of_openai_error(std::int64_t status, const json::value& error);

// The same for a response without an error object.
FailureKind kind_without_error(std::int64_t status);

}  // namespace provider
