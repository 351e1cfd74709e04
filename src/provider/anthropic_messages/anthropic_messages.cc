#include "provider/anthropic_messages/anthropic_messages.h"

#include "base/text.h"
#include "provider/anthropic_messages/stream.h"
#include "provider/http/ask_once.h"

namespace provider {
namespace {

constexpr std::string_view kApiVersion = "2023-06-01";

}  // namespace

AnthropicMessages::AnthropicMessages(HttpClient& http, base::Clock& clock,
                                     AnthropicMessagesOptions options)
    : http_(http), clock_(clock), options_(std::move(options)) {
    auto& credential = options_.credential;
    if (credential) credential = std::string(base::trim(*credential));
    if (credential && credential->empty()) credential.reset();
}

std::shared_ptr<Exchange> AnthropicMessages::ask(Request request, Progress progress,
                                                 std::move_only_function<void(Outcome)> done) {
    const json::object body =
        anthropic_messages::encode_request(request, options_.context_management, options_.stream);
    HttpRequest http{.url = anthropic_messages::endpoint_url(options_.base_url),
                     .headers = {{"Content-Type", "application/json"},
                                 {"anthropic-version", std::string(kApiVersion)}},
                     .body = base::json_text(body),
                     .timeouts = options_.timeouts,
                     .body_bytes_max = options_.body_bytes_max};
    if (options_.context_management)
        http.headers.push_back(
            {"anthropic-beta", std::string(anthropic_messages::kContextManagementBeta)});
    if (options_.credential && options_.credential_header == CredentialHeader::ApiKey)
        http.headers.push_back({"x-api-key", *options_.credential});
    else if (options_.credential)
        http.headers.push_back({"Authorization", "Bearer " + *options_.credential});
    json::object diagnostics =
        anthropic_messages::request_diagnostics(request, body, options_.context_management);
    if (options_.stream)
        return ask_stream(http_, clock_,
                          {.http = std::move(http),
                           .model_ref = request.model_ref,
                           .secret = options_.credential.value_or(""),
                           .request_diagnostics = std::move(diagnostics),
                           .events = std::make_shared<anthropic_messages::StreamReader>(),
                           .parse = &anthropic_messages::parse_response,
                           .may_be_document = true},
                          std::move(progress), std::move(done));
    return ask_once(http_, clock_,
                    {.http = std::move(http),
                     .model_ref = request.model_ref,
                     .secret = options_.credential.value_or(""),
                     .request_diagnostics = std::move(diagnostics),
                     .parse = &anthropic_messages::parse_response},
                    std::move(progress), std::move(done));
}

}  // namespace provider
