// The Anthropic Messages API and the servers that speak it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "provider/anthropic_messages/wire.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

// How the credential goes out: `x-api-key` for an API key, `Authorization: Bearer` for a token.
enum class CredentialHeader { ApiKey, Bearer };

struct AnthropicMessagesOptions {
    std::string base_url;  // See anthropic_messages::endpoint_url().
    std::optional<std::string> credential{};
    CredentialHeader credential_header{CredentialHeader::Bearer};
    std::optional<ContextManagement> context_management{};  // Off unless it is chosen.
    // Asks for the answer in pieces, so that people can watch it.
    bool stream{false};
    HttpTimeouts timeouts{};
    std::size_t body_bytes_max{kBodyBytesMax};
};

// Every request holds the whole conversation. Without streaming, progress gets the whole text at
// once, right before the reply. The credential appears in no failure, not even when the server
// repeats it.
class AnthropicMessages final : public Provider {
public:
    // `http` and `clock` must outlive every question.
    AnthropicMessages(HttpClient& http, base::Clock& clock, AnthropicMessagesOptions options);

    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

private:
    HttpClient& http_;
    base::Clock& clock_;
    AnthropicMessagesOptions options_;
};

}  // namespace provider
