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
};

// A request that only appends to the one before it, of the same agent and cache key, sends what is
// new and names the previous response; in every doubtful case it sends all. A server that no longer
// knows that response gets all of it in a second request of the same exchange. Which it was is in
// request_diagnostics.
std::unique_ptr<Codec> make_codec(const Options& options);

}  // namespace provider::openai_responses
