// The codec of the Chat Completions API.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "provider/http/codec.h"

namespace provider::chat_completions {

struct Options {
    std::string base_url;                  // See endpoint_url().
    std::optional<std::string> api_key{};  // Sent as a bearer token; none for open servers.
    // Asks for the answer in pieces, so that people can watch it. Servers that send it whole all
    // the same are understood; those that refuse a request with `stream` need this off.
    bool stream{false};
    std::optional<std::string> reasoning_effort{};  // Not sent unless set.
};

// Every request holds the whole conversation.
std::unique_ptr<Codec> make_codec(const Options& options);

}  // namespace provider::chat_completions
