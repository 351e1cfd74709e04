// The OpenAI Chat Completions API, and the many servers that speak it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

struct ChatCompletionsOptions {
    std::string base_url;                  // See chat_completions::endpoint_url().
    std::optional<std::string> api_key{};  // Sent as a bearer token; none for open servers.
    // Asks for the answer in pieces, so that people can watch it. Servers that send it whole all
    // the same are understood; those that refuse to be asked need this off.
    bool stream{false};
    HttpTimeouts timeouts{};
    std::size_t body_bytes_max{kBodyBytesMax};
};

// Without streaming, progress gets the whole text at once, right before the reply. The key appears
// in no failure, not even when the server repeats it.
class ChatCompletions final : public Provider {
public:
    // `http` and `clock` must outlive every question.
    ChatCompletions(HttpClient& http, base::Clock& clock, ChatCompletionsOptions options);

    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

private:
    HttpClient& http_;
    base::Clock& clock_;
    ChatCompletionsOptions options_;
};

}  // namespace provider
