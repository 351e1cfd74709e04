// The codec of the OpenAI Responses API.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "provider/http/codec.h"

namespace provider::openai_responses {

struct Options {
    std::string base_url;                  // With its version, such as https://api.openai.com/v1.
    std::optional<std::string> api_key{};  // Sent as a bearer token; none for open servers.
    // Asks for the answer in pieces, so that people can watch it.
    bool stream{false};
    std::optional<std::string> reasoning_effort{};  // Not sent unless set.
    // The server keeps responses, and may: it is asked to (`store`), and requests continue them.
    bool keeps_state{false};
};

// Every request holds the whole conversation, unless the server keeps state. Then a request that
// only appends to the one before it, of the same agent and cache key, sends what is new and names
// the previous response; in every doubtful case it sends all. A server that refuses that response
// gets all of it in a second request of the same exchange, and from then on in every request. Which
// it was is in request_diagnostics.
std::unique_ptr<Codec> make_codec(const Options& options);

}  // namespace provider::openai_responses
