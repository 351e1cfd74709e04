#include "provider/http/ask_once.h"

namespace provider {
namespace {

constexpr std::string_view kHidden = "[redacted]";
constexpr std::size_t kSecretCharsMin = 4;

// One question on its way. Owned by the HTTP request's callback and by the caller.
class Asking final : public Exchange {
public:
    Asking(Posting posting, Progress progress, std::move_only_function<void(Outcome)> done)
        : posting_(std::move(posting)), progress_(std::move(progress)), done_(std::move(done)) {}

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
            if (cancelled_) outcome = std::unexpected(cancelled());
        }
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    // Weak, as the HTTP request holds this in its callback and lives until it has called it.
    std::weak_ptr<Exchange> http;

private:
    Outcome outcome_of(HttpOutcome response, base::Time now) {
        if (!response) return std::unexpected(explained(std::move(response).error()));
        Outcome outcome = posting_.parse(*response, now);
        // Once more without the secret, so that no excerpt ends in half of it.
        if (!outcome && hide(response->body, posting_.secret))
            outcome = posting_.parse(*response, now);
        if (!outcome) return std::unexpected(explained(std::move(outcome).error()));
        outcome->request_diagnostics = posting_.request_diagnostics;
        return outcome;
    }
    Failure explained(Failure failure) const {
        return completed(std::move(failure), posting_.model_ref, posting_.http.url,
                         posting_.secret);
    }

    Posting posting_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    bool cancelled_{false};
};

}  // namespace

bool hide(std::string& text, std::string_view secret) {
    if (secret.size() < kSecretCharsMin) return false;
    bool found = false;
    for (std::size_t at = text.find(secret); at != text.npos;
         at = text.find(secret, at + kHidden.size())) {
        text.replace(at, secret.size(), kHidden);
        found = true;
    }
    return found;
}

Failure completed(Failure failure, const std::string& model_ref, std::string_view url,
                  std::string_view secret) {
    hide(failure.message, secret);
    if (!failure.diagnostics) return failure;
    auto& diagnostics = *failure.diagnostics;
    diagnostics.provider = model_ref.substr(0, model_ref.find('/'));
    diagnostics.model_ref = model_ref;
    diagnostics.url = public_url(url);
    hide(*diagnostics.url, secret);
    if (diagnostics.source_chain)
        for (auto& cause : *diagnostics.source_chain) hide(cause, secret);
    return failure;
}

Failure cancelled() {
    return {.kind = FailureKind::Cancelled, .message = "the request was cancelled"};
}

std::shared_ptr<Exchange> ask_once(HttpClient& http, base::Clock& clock, Posting posting,
                                   Progress progress, std::move_only_function<void(Outcome)> done) {
    HttpRequest request = std::move(posting.http);
    posting.http.url = request.url;
    auto asking =
        std::make_shared<Asking>(std::move(posting), std::move(progress), std::move(done));
    asking->http = http.send(std::move(request), {}, [asking, &clock](HttpOutcome response) {
        asking->settle(std::move(response), clock.now());
    });
    return asking;
}

}  // namespace provider
