// The codec of the Anthropic Messages API.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "provider/anthropic_messages/wire.h"
#include "provider/http/codec.h"

namespace provider::anthropic_messages {

// How the credential goes out: `x-api-key` for an API key, `Authorization: Bearer` for a token.
enum class CredentialHeader { ApiKey, Bearer };

struct Options {
    std::string base_url;                     // See endpoint_url().
    std::optional<std::string> credential{};  // None for open servers.
    CredentialHeader credential_header{CredentialHeader::Bearer};
    std::optional<ContextManagement> context_management{};  // Off unless it is chosen.
    // Asks for the answer in pieces, so that people can watch it.
    bool stream{false};
};

// Every request holds the whole conversation.
std::unique_ptr<Codec> make_codec(Options options);

}  // namespace provider::anthropic_messages
