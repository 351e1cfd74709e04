#include "provider/http/ask_stream.h"

#include "provider/http/ask_once.h"
#include "provider/http/received.h"
#include "provider/http/sse.h"

namespace provider {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// One question on its way. Owned by the HTTP request's callbacks and by the caller; it lets go of
// `done` when it is settled, and what still arrives afterwards is dropped.
class Asking final : public Exchange, public std::enable_shared_from_this<Asking> {
public:
    Asking(base::Loop& loop, base::Clock& clock, Streaming streaming, Progress progress,
           std::move_only_function<void(Outcome)> done)
        : loop_(loop),
          clock_(clock),
          streaming_(std::move(streaming)),
          url_(streaming_.http.url),
          progress_(std::move(progress)),
          done_(std::move(done)) {}

    void cancel() override {
        if (!done_) return;
        cancelled_ = true;
        if (const auto sent = http_.lock()) sent->cancel();
    }

    void send(HttpClient& http) {
        http_ = http.send(
            std::move(streaming_.http),
            [self = shared_from_this()](std::string_view chunk) { self->take(chunk); },
            [self = shared_from_this()](HttpOutcome response) {
                self->close(std::move(response));
            });
    }

private:
    // A document begins with a brace, which no line of an event stream does.
    bool belongs_to_document(std::string_view chunk) {
        if (!streaming_.may_be_document || seen_content_) return !document_.empty();
        const std::size_t first = chunk.find_first_not_of(kBlanks);
        if (first == chunk.npos) return false;
        seen_content_ = true;
        return chunk[first] == '{';
    }

    void take(std::string_view chunk) {
        if (!done_ || cancelled_) return;
        if (belongs_to_document(chunk))
            document_ += chunk;
        else
            events_.add(chunk, [this](std::string_view data) { take_event(data); });
    }

    void take_event(std::string_view data) {
        if (!done_ || cancelled_) return;
        auto step = streaming_.events->take(data);
        if (step.end && !*step.end) {
            // Once more without the secret, so that no excerpt ends in half of it.
            std::string clean(data);
            if (hide(clean, streaming_.secret)) step = streaming_.events->take(clean);
        }
        show(step.text_delta);
        if (step.end) end_stream(std::move(*step.end));
    }

    void show(std::string_view text) {
        if (text.empty() || !progress_) return;
        has_shown_ = true;
        progress_(text);
    }

    void show_unseen(const Outcome& outcome) {
        if (!outcome || has_shown_) return;
        for (const auto& block : outcome->blocks)
            if (const auto* text = std::get_if<domain::TextBlock>(&block)) show(text->text);
    }

    // A server that stays on the line after the end is hung up on. One that just ends keeps its
    // connection for the next question.
    void end_stream(Outcome outcome) {
        show_unseen(outcome);
        if (cancelled_) return;  // By progress; the HTTP request will say so.
        const auto hang_up = [sent = http_] {
            if (const auto still = sent.lock()) still->cancel();
        };
        if (outcome)
            hang_up_timer_ = loop_.after(streaming_.close_grace, hang_up);
        else
            hang_up();
        settle(std::move(outcome));
    }

    void close(HttpOutcome response) {
        loop_.cancel(hang_up_timer_);
        if (!done_) return;
        if (!response) return settle(std::unexpected(std::move(response).error()));
        if (!is_success(response->status)) return settle(parsed(*response));
        if (!document_.empty()) {
            response->body = std::move(document_);
            Outcome outcome = parsed(*response);
            show_unseen(outcome);
            return settle(std::move(outcome));
        }
        events_.finish([this](std::string_view data) { take_event(data); });
        if (!done_) return;
        Outcome outcome = streaming_.events->stop(*response);
        show_unseen(outcome);
        settle(std::move(outcome));
    }

    Outcome parsed(HttpResponse& response) {
        Outcome outcome = streaming_.parse(response, clock_.now());
        if (!outcome && hide(response.body, streaming_.secret))
            outcome = streaming_.parse(response, clock_.now());
        return outcome;
    }

    void settle(Outcome outcome) {
        if (!done_) return;
        if (cancelled_) outcome = std::unexpected(cancelled());
        if (outcome)
            outcome->request_diagnostics = streaming_.request_diagnostics;
        else
            outcome = std::unexpected(completed(std::move(outcome).error(), streaming_.model_ref,
                                                url_, streaming_.secret));
        progress_ = nullptr;
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    base::Loop& loop_;
    base::Clock& clock_;
    Streaming streaming_;
    std::string url_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    SseReader events_;
    std::string document_;
    bool seen_content_{false};
    bool has_shown_{false};
    bool cancelled_{false};
    base::Loop::TimerHandle hang_up_timer_{base::Loop::TimerHandle::None};
    std::weak_ptr<Exchange> http_;  // Weak, as the HTTP request holds this in its callbacks.
};

// A question that was over before it began.
class Failed final : public Exchange {
public:
    void cancel() override { is_cancelled = true; }
    bool is_cancelled{false};
};

}  // namespace

std::string not_events_message(const HttpResponse& head) {
    const auto* content = find_header(head.headers, "content-type");
    return fmt::format("the response is not an event stream (content type {})",
                       content ? excerpt(*content) : "missing");
}

std::shared_ptr<Exchange> ask_stream(HttpClient& http, base::Clock& clock, Streaming streaming,
                                     Progress progress,
                                     std::move_only_function<void(Outcome)> done) {
    auto asking = std::make_shared<Asking>(http.loop(), clock, std::move(streaming),
                                           std::move(progress), std::move(done));
    asking->send(http);
    return asking;
}

std::shared_ptr<Exchange> fail_later(base::Loop& loop, Failure failure,
                                     std::move_only_function<void(Outcome)> done) {
    auto failed = std::make_shared<Failed>();
    loop.post([failed, failure = std::move(failure), done = std::move(done)]() mutable {
        done(std::unexpected(failed->is_cancelled ? cancelled() : std::move(failure)));
    });
    return failed;
}

}  // namespace provider
