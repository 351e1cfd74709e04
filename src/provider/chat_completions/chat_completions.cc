#include "provider/chat_completions/chat_completions.h"

#include "base/text.h"
#include "provider/chat_completions/wire.h"

namespace provider {
namespace {

constexpr std::string_view kHidden = "[redacted]";
constexpr std::size_t kKeyCharsMin = 4;  // Shorter ones are words of ordinary text.

void hide(std::string& text, std::string_view key) {
    if (key.size() < kKeyCharsMin) return;
    for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + kHidden.size()))
        text.replace(at, key.size(), kHidden);
}

void hide(Failure& failure, std::string_view key) {
    hide(failure.message, key);
    if (!failure.diagnostics) return;
    if (failure.diagnostics->url) hide(*failure.diagnostics->url, key);
    if (failure.diagnostics->source_chain)
        for (auto& cause : *failure.diagnostics->source_chain) hide(cause, key);
}

// One question on its way. Owned by the HTTP request's callback and by the caller.
class Asking final : public Exchange {
public:
    Asking(std::shared_ptr<const ChatCompletionsOptions> options, const Request& request,
           Progress progress, std::move_only_function<void(Outcome)> done)
        : options_(std::move(options)),
          model_ref_(request.model_ref),
          diagnostics_(chat_completions::request_diagnostics(request)),
          progress_(std::move(progress)),
          done_(std::move(done)) {}

    void cancel() override {
        cancelled_ = true;
        if (const auto sent = http.lock()) sent->cancel();
    }

    void settle(HttpOutcome response, base::Time now) {
        Outcome outcome = outcome_of(std::move(response), now);
        if (outcome && progress_) {
            for (const auto& block : outcome->blocks)
                if (const auto* text = std::get_if<domain::TextBlock>(&block))
                    progress_(text->text);
            if (cancelled_)
                outcome = std::unexpected(Failure{.kind = FailureKind::Cancelled,
                                                  .message = "the request was cancelled"});
        }
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    // Weak, as the HTTP request holds this in its callback and lives until it has called it.
    std::weak_ptr<Exchange> http;

private:
    Outcome outcome_of(HttpOutcome response, base::Time now) {
        const std::string key = options_->api_key.value_or("");
        if (!response) return std::unexpected(completed(std::move(response).error(), key));
        // Before it is read, so that no excerpt ends in half a key.
        if (response->status < 200 || response->status > 299) hide(response->body, key);
        Outcome outcome = chat_completions::parse_response(*response, now);
        if (!outcome) return std::unexpected(completed(std::move(outcome).error(), key));
        outcome->request_diagnostics = diagnostics_;
        return outcome;
    }

    Failure completed(Failure failure, std::string_view key) const {
        if (failure.diagnostics) {
            failure.diagnostics->provider = model_ref_.substr(0, model_ref_.find('/'));
            failure.diagnostics->model_ref = model_ref_;
            failure.diagnostics->url =
                public_url(chat_completions::endpoint_url(options_->base_url));
        }
        hide(failure, key);
        return failure;
    }

    std::shared_ptr<const ChatCompletionsOptions> options_;
    std::string model_ref_;
    json::object diagnostics_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    bool cancelled_{false};
};

}  // namespace

ChatCompletions::ChatCompletions(HttpClient& http, base::Clock& clock,
                                 ChatCompletionsOptions options)
    : http_(http), clock_(clock) {
    if (options.api_key) options.api_key = std::string(base::trim(*options.api_key));
    if (options.api_key && options.api_key->empty()) options.api_key.reset();
    options_ = std::make_shared<const ChatCompletionsOptions>(std::move(options));
}

std::shared_ptr<Exchange> ChatCompletions::ask(Request request, Progress progress,
                                               std::move_only_function<void(Outcome)> done) {
    HttpRequest http{.url = chat_completions::endpoint_url(options_->base_url),
                     .headers = {{"Content-Type", "application/json"}},
                     .body = base::json_text(chat_completions::encode_request(request)),
                     .timeouts = options_->timeouts,
                     .body_bytes_max = options_->body_bytes_max};
    if (options_->api_key)
        http.headers.push_back({"Authorization", "Bearer " + *options_->api_key});
    auto asking = std::make_shared<Asking>(options_, request, std::move(progress), std::move(done));
    asking->http = http_.send(std::move(http), {}, [asking, &clock = clock_](HttpOutcome response) {
        asking->settle(std::move(response), clock.now());
    });
    return asking;
}

}  // namespace provider
