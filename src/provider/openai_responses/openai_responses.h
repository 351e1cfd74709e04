// The OpenAI Responses API.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "provider/http/http_client.h"
#include "provider/provider.h"

namespace provider {

namespace openai_responses {
class Continuations;
}

struct OpenaiResponsesOptions {
    std::string base_url;                  // With its version, such as https://api.openai.com/v1.
    std::optional<std::string> api_key{};  // Sent as a bearer token; none for open servers.
    // Asks for the answer in pieces, so that people can watch it.
    bool stream{false};
    HttpTimeouts timeouts{};
    std::size_t body_bytes_max{kBodyBytesMax};
};

// Without streaming, progress gets the whole text at once, right before the reply. A request that
// only appends to the one before it, of the same agent and cache key, sends what is new and names
// the previous response; in every doubtful case it sends all. A server that no longer knows that
// response is sent all of it within the same question. Which it was is in request_diagnostics.
class OpenaiResponses final : public Provider {
public:
    // `http` and `clock` must outlive every question.
    OpenaiResponses(HttpClient& http, base::Clock& clock, OpenaiResponsesOptions options);

    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

private:
    HttpClient& http_;
    base::Clock& clock_;
    std::shared_ptr<const OpenaiResponsesOptions> options_;
    std::shared_ptr<openai_responses::Continuations> continuations_;
};

}  // namespace provider
