#include "provider/openai_codex/openai_codex.h"

#include "provider/http/ask_once.h"
#include "provider/http/received.h"
#include "provider/http/sse.h"
#include "provider/openai_codex/login.h"
#include "provider/openai_codex/wire.h"

namespace provider {
namespace {

// One question on its way. Owned by the HTTP request's callbacks and by the caller; it lets go of
// `done` when it is settled, and what still arrives afterwards is dropped.
class Asking final : public Exchange, public std::enable_shared_from_this<Asking> {
public:
    struct Parts {
        base::Loop& loop;
        base::Clock& clock;
        std::string model_ref;
        std::string url;
        std::string secret;
        json::object request_diagnostics;
        std::chrono::milliseconds close_grace;
    };

    Asking(Parts parts, Progress progress, std::move_only_function<void(Outcome)> done)
        : parts_(std::move(parts)), progress_(std::move(progress)), done_(std::move(done)) {}

    void cancel() override {
        if (!done_) return;
        cancelled_ = true;
        if (const auto sent = http_.lock()) return sent->cancel();
        settle_later(cancelled());
    }

    void send(HttpClient& http, HttpRequest request) {
        http_ = http.send(
            std::move(request),
            [self = shared_from_this()](std::string_view chunk) { self->take(chunk); },
            [self = shared_from_this()](HttpOutcome response) {
                self->close(std::move(response));
            });
    }

    void settle_later(Failure failure) {
        parts_.loop.post([self = shared_from_this(), failure = std::move(failure)]() mutable {
            self->settle(std::unexpected(std::move(failure)));
        });
    }

private:
    void take(std::string_view chunk) {
        if (!done_ || cancelled_) return;
        events_.add(chunk, [this](std::string_view data) { take_event(data); });
    }

    void take_event(std::string_view data) {
        if (!done_ || cancelled_) return;
        auto step = reader_.take(data);
        if (step.end && !*step.end) {
            // Once more without the secret, so that no excerpt ends in half of it.
            std::string clean(data);
            if (hide(clean, parts_.secret)) step = reader_.take(clean);
        }
        show(step.text_delta);
        if (step.end) end_stream(std::move(*step.end));
    }

    void show(std::string_view text) {
        if (text.empty() || !progress_) return;
        has_shown_ = true;
        progress_(text);
    }

    // A server that stays on the line after the end is hung up on. One that just ends keeps its
    // connection for the next question.
    void end_stream(Outcome outcome) {
        if (outcome && !has_shown_)
            for (const auto& block : outcome->blocks)
                if (const auto* text = std::get_if<domain::TextBlock>(&block)) show(text->text);
        if (cancelled_) return;  // By progress; the HTTP request will say so.
        const auto hang_up = [sent = http_] {
            if (const auto still = sent.lock()) still->cancel();
        };
        if (outcome)
            hang_up_timer_ = parts_.loop.after(parts_.close_grace, hang_up);
        else
            hang_up();
        settle(std::move(outcome));
    }

    void close(HttpOutcome response) {
        parts_.loop.cancel(hang_up_timer_);
        if (!done_) return;
        if (!response) return settle(std::unexpected(std::move(response).error()));
        if (!is_success(response->status)) {
            hide(response->body, parts_.secret);
            return settle(
                std::unexpected(openai_codex::parse_refusal(*response, parts_.clock.now())));
        }
        events_.finish([this](std::string_view data) { take_event(data); });
        settle(std::unexpected(reader_.broken_off(*response)));
    }

    void settle(Outcome outcome) {
        if (!done_) return;
        if (cancelled_) outcome = std::unexpected(cancelled());
        if (outcome)
            outcome->request_diagnostics = parts_.request_diagnostics;
        else
            outcome = std::unexpected(
                completed(std::move(outcome).error(), parts_.model_ref, parts_.url, parts_.secret));
        progress_ = nullptr;
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    Parts parts_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    SseReader events_;
    openai_codex::StreamReader reader_;
    bool has_shown_{false};
    bool cancelled_{false};
    base::Loop::TimerHandle hang_up_timer_{base::Loop::TimerHandle::None};
    std::weak_ptr<Exchange> http_;  // Weak, as the HTTP request holds this in its callbacks.
};

}  // namespace

OpenaiCodex::OpenaiCodex(HttpClient& http, base::Loop& loop, base::Clock& clock,
                         OpenaiCodexOptions options)
    : http_(http), loop_(loop), clock_(clock), options_(std::move(options)) {}

std::shared_ptr<Exchange> OpenaiCodex::ask(Request request, Progress progress,
                                           std::move_only_function<void(Outcome)> done) {
    const auto login = read_codex_login(options_.codex_home);
    HttpRequest http{.url = openai_codex::endpoint_url(options_.base_url),
                     .timeouts = options_.timeouts,
                     .body_bytes_max = options_.body_bytes_max};
    auto asking = std::make_shared<Asking>(
        Asking::Parts{.loop = loop_,
                      .clock = clock_,
                      .model_ref = request.model_ref,
                      .url = http.url,
                      .secret = login ? login->access_token : "",
                      .request_diagnostics =
                          openai_codex::request_diagnostics(request, options_.reasoning_effort),
                      .close_grace = options_.close_grace},
        std::move(progress), std::move(done));
    if (!login) {
        asking->settle_later({.kind = FailureKind::AuthError, .message = login.error().message});
        return asking;
    }
    http.headers = {{"Content-Type", "application/json"},
                    {"Accept", "text/event-stream"},
                    {"Authorization", "Bearer " + login->access_token},
                    {"chatgpt-account-id", login->account_id},
                    {"OpenAI-Beta", "responses=experimental"},
                    {"originator", "codex_cli_rs"}};
    http.body = base::json_text(openai_codex::encode_request(request, options_.reasoning_effort));
    asking->send(http_, std::move(http));
    return asking;
}

}  // namespace provider
