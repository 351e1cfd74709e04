#include "provider/openai_codex/openai_codex.h"

#include "provider/openai_codex/login.h"
#include "provider/openai_codex/wire.h"
#include "provider/openai_responses/stream.h"

namespace provider {
OpenaiCodex::OpenaiCodex(HttpClient& http, base::Clock& clock, OpenaiCodexOptions options)
    : http_(http), clock_(clock), options_(std::move(options)) {}

std::shared_ptr<Exchange> OpenaiCodex::ask(Request request, Progress progress,
                                           std::move_only_function<void(Outcome)> done) {
    const auto login = read_codex_login(options_.codex_home);
    if (!login)
        return fail_later(http_.loop(),
                          {.kind = FailureKind::AuthError, .message = login.error().message},
                          std::move(done));
    HttpRequest http{
        .url = openai_codex::endpoint_url(options_.base_url),
        .headers = {{"Content-Type", "application/json"},
                    {"Accept", "text/event-stream"},
                    {"Authorization", "Bearer " + login->access_token},
                    {"chatgpt-account-id", login->account_id},
                    {"OpenAI-Beta", "responses=experimental"},
                    {"originator", "codex_cli_rs"}},
        .body = base::json_text(openai_codex::encode_request(request, options_.reasoning_effort)),
        .timeouts = options_.timeouts,
        .body_bytes_max = options_.body_bytes_max};
    return ask_stream(http_, clock_,
                      {.http = std::move(http),
                       .model_ref = request.model_ref,
                       .secret = login->access_token,
                       .request_diagnostics =
                           openai_codex::request_diagnostics(request, options_.reasoning_effort),
                       .close_grace = options_.close_grace,
                       .events = std::make_shared<openai_responses::StreamReader>(),
                       .parse = [](const HttpResponse& response, base::Time now) -> Outcome {
                           return std::unexpected(openai_codex::parse_refusal(response, now));
                       }},
                      std::move(progress), std::move(done));
}

}  // namespace provider
