#include "provider/chat_completions/chat_completions.h"

#include "base/text.h"
#include "provider/chat_completions/stream.h"
#include "provider/chat_completions/wire.h"
#include "provider/http/ask_once.h"

namespace provider {

ChatCompletions::ChatCompletions(HttpClient& http, base::Clock& clock,
                                 ChatCompletionsOptions options)
    : http_(http), clock_(clock) {
    if (options.api_key) options.api_key = std::string(base::trim(*options.api_key));
    if (options.api_key && options.api_key->empty()) options.api_key.reset();
    options_ = std::move(options);
}

std::shared_ptr<Exchange> ChatCompletions::ask(Request request, Progress progress,
                                               std::move_only_function<void(Outcome)> done) {
    HttpRequest http{
        .url = chat_completions::endpoint_url(options_.base_url),
        .headers = {{"Content-Type", "application/json"}},
        .body = base::json_text(chat_completions::encode_request(request, options_.stream)),
        .timeouts = options_.timeouts,
        .body_bytes_max = options_.body_bytes_max};
    if (options_.api_key) http.headers.push_back({"Authorization", "Bearer " + *options_.api_key});
    if (options_.stream)
        return ask_stream(http_, clock_,
                          {.http = std::move(http),
                           .model_ref = request.model_ref,
                           .secret = options_.api_key.value_or(""),
                           .request_diagnostics = chat_completions::request_diagnostics(request),
                           .events = std::make_shared<chat_completions::StreamReader>(),
                           .parse = &chat_completions::parse_response,
                           .may_be_document = true},
                          std::move(progress), std::move(done));
    return ask_once(http_, clock_,
                    {.http = std::move(http),
                     .model_ref = request.model_ref,
                     .secret = options_.api_key.value_or(""),
                     .request_diagnostics = chat_completions::request_diagnostics(request),
                     .parse = &chat_completions::parse_response},
                    std::move(progress), std::move(done));
}

}  // namespace provider
