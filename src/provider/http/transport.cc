#include "provider/http/transport.h"

#include "provider/http/received.h"
#include "provider/http/sse.h"

namespace provider {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::int64_t kStreamStatus = 200;  // Events only come with a success.

Failure cancelled() {
    return {.kind = FailureKind::Cancelled, .message = "the request was cancelled"};
}

bool is_cancelled(const Outcome& outcome) {
    return !outcome && outcome.error().kind == FailureKind::Cancelled;
}

// `failure` with the diagnostics that a codec cannot know, and without `secret`.
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

struct Parts {
    HttpSender http;
    base::Clock& clock;
    HttpTransportOptions options;
    std::string model_ref;
};

// What the caller of ask() gets. Held by the caller and by the request that is on its way; holds
// that request weakly, so that neither keeps the other alive.
class TransportExchange final : public Exchange,
                                public std::enable_shared_from_this<TransportExchange> {
public:
    TransportExchange(Parts parts, Progress progress, std::move_only_function<void(Outcome)> done)
        : parts_(std::move(parts)), progress_(std::move(progress)), done_(std::move(done)) {}

    void send(EncodedRequest request);

    void cancel() override {
        if (!done_) return;
        cancelled_ = true;
        if (const auto sent = sent_.lock()) sent->cancel();
    }
    bool is_cancelled() const { return cancelled_; }

    void show(std::string_view text) {
        if (text.empty() || !progress_) return;
        has_shown_ = true;
        progress_(std::string_view(text));
    }
    void show_unseen(const Outcome& outcome) {
        if (!outcome || has_shown_) return;
        for (const auto& block : outcome->blocks)
            if (const auto* text = std::get_if<domain::TextBlock>(&block)) show(text->text);
    }

    // Ends the exchange. Releases the callbacks, which may hold it.
    void finish(Outcome outcome) {
        progress_ = nullptr;
        std::exchange(done_, nullptr)(std::move(outcome));
    }

private:
    Parts parts_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    std::weak_ptr<Exchange> sent_;
    bool has_shown_{false};
    bool cancelled_{false};
};

// One HTTP request and the answer to it. Owned by the callbacks of the HTTP client; releases its
// exchange when it is settled, and drops what still arrives afterwards.
class SentRequest final : public std::enable_shared_from_this<SentRequest> {
public:
    SentRequest(const Parts& parts, EncodedRequest request,
                std::shared_ptr<TransportExchange> exchange)
        : parts_(parts), request_(std::move(request)), exchange_(std::move(exchange)) {}

    std::shared_ptr<Exchange> send() {
        ChunkHandler on_chunk;
        if (request_.decoder->events())
            on_chunk = [self = shared_from_this()](std::string_view chunk) { self->take(chunk); };
        auto sent = parts_.http.send({.url = request_.url,
                                      .headers = std::move(request_.headers),
                                      .body = base::json_text(std::exchange(request_.body, {})),
                                      .timeouts = parts_.options.timeouts,
                                      .body_bytes_max = parts_.options.body_bytes_max},
                                     std::move(on_chunk),
                                     [self = shared_from_this()](HttpOutcome response) {
                                         self->close(std::move(response));
                                     });
        sent_ = sent;
        return sent;
    }

private:
    bool is_over() const { return !exchange_ || exchange_->is_cancelled(); }

    // A document begins with a brace, which no line of an event stream does.
    bool belongs_to_document(std::string_view chunk) {
        if (!request_.may_be_document || seen_content_) return !document_.empty();
        const std::size_t first = chunk.find_first_not_of(kBlanks);
        if (first == chunk.npos) return false;
        seen_content_ = true;
        return chunk[first] == '{';
    }

    void take(std::string_view chunk) {
        if (is_over()) return;
        if (belongs_to_document(chunk)) {
            document_ += chunk;
            return;
        }
        if (silence_timer_ == base::Loop::TimerHandle::None) watch_silence();
        sse_.add(chunk, [this](std::string_view data) { take_event(data); });
    }

    // The HTTP client hears comments and pings; they keep a connection open without an answer. So a
    // stream of nothing else ends within two idle timeouts.
    void watch_silence() {
        has_heard_ = false;
        silence_timer_ = parts_.http.loop().after(parts_.options.timeouts.idle,
                                                  [weak = std::weak_ptr(shared_from_this())] {
                                                      if (const auto self = weak.lock())
                                                          self->check_silence();
                                                  });
    }
    void check_silence() {
        silence_timer_ = base::Loop::TimerHandle::None;
        if (is_over()) return;
        if (has_heard_ || !document_.empty()) return watch_silence();
        Failure failure = failure_at(kStreamStage, FailureKind::Timeout, kStreamStatus,
                                     fmt::format("the stream was open for {} ms without an event",
                                                 parts_.options.timeouts.idle.count()));
        failure.diagnostics->reqwest->is_timeout = true;
        failure.diagnostics->reqwest->is_body = true;
        end_stream(std::unexpected(std::move(failure)));
    }

    void take_event(std::string_view data) {
        if (is_over()) return;
        auto step = request_.decoder->events()->take(data);
        has_heard_ = has_heard_ || !step.is_keep_alive;
        if (step.end && !*step.end) {
            // Once more without the secret, so that no excerpt ends in half of it.
            std::string clean(data);
            if (hide(clean, request_.secret)) step = request_.decoder->events()->take(clean);
        }
        exchange_->show(step.text_delta);
        if (step.end) end_stream(std::move(*step.end));
    }

    // A server that leaves the stream open after the end has its connection closed. One that just
    // ends keeps its connection for the next request.
    void end_stream(Outcome outcome) {
        exchange_->show_unseen(outcome);
        if (exchange_->is_cancelled()) return;  // By progress; the HTTP client will report it.
        const auto disconnect = [sent = sent_] {
            if (const auto still = sent.lock()) still->cancel();
        };
        if (outcome)
            close_timer_ = parts_.http.loop().after(parts_.options.close_grace, disconnect);
        else
            disconnect();
        settle(std::move(outcome));
    }

    void close(HttpOutcome response) {
        parts_.http.loop().cancel(close_timer_);
        parts_.http.loop().cancel(silence_timer_);
        if (!exchange_) return;
        if (!response) return settle(std::unexpected(std::move(response).error()));
        Outcome outcome = outcome_of(*response);
        if (!exchange_) return;
        exchange_->show_unseen(outcome);
        settle(std::move(outcome));
    }

    // Of a response that is complete. The last event of a stream may settle this on its way.
    Outcome outcome_of(HttpResponse& response) {
        EventReader* events = request_.decoder->events();
        if (!events || !is_success(response.status)) return decoded(response);
        if (!document_.empty()) {
            response.body = std::move(document_);
            return decoded(response);
        }
        sse_.finish([this](std::string_view data) { take_event(data); });
        return events->stop(response);
    }

    Outcome decoded(HttpResponse& response) {
        Outcome outcome = request_.decoder->decode(response, parts_.clock.now());
        // Once more without the secret, so that no excerpt ends in half of it.
        if (!outcome && hide(response.body, request_.secret))
            outcome = request_.decoder->decode(response, parts_.clock.now());
        return outcome;
    }

    void settle(Outcome outcome) {
        const auto exchange = std::exchange(exchange_, nullptr);
        if (exchange->is_cancelled()) {
            if (!is_cancelled(outcome)) outcome = std::unexpected(cancelled());
        } else if (auto instead = request_.decoder->replacement(outcome)) {
            return exchange->send(std::move(*instead));
        }
        if (outcome)
            add_diagnostics(*outcome);
        else
            outcome = std::unexpected(completed(explained(std::move(outcome).error()),
                                                parts_.model_ref, request_.url, request_.secret));
        exchange->finish(std::move(outcome));
    }

    // What the decoder found stays, and replaces what the codec said of the same.
    void add_diagnostics(Reply& reply) {
        auto found =
            std::exchange(reply.request_diagnostics, std::move(request_.request_diagnostics));
        for (auto& member : found)
            reply.request_diagnostics[member.key()] = std::move(member.value());
    }

    Failure explained(Failure failure) const {
        const auto& advice = parts_.options.when_rejected;
        if (failure.kind == FailureKind::AuthError && failure.status && !advice.empty())
            failure.message = fmt::format("{} ({})", advice, failure.message);
        return failure;
    }

    Parts parts_;
    EncodedRequest request_;
    std::shared_ptr<TransportExchange> exchange_;  // Null once settled.
    SseReader sse_;
    std::string document_;
    bool seen_content_{false};
    bool has_heard_{false};
    base::Loop::TimerHandle close_timer_{base::Loop::TimerHandle::None};
    base::Loop::TimerHandle silence_timer_{base::Loop::TimerHandle::None};
    std::weak_ptr<Exchange> sent_;  // Weak, as the HTTP client's request holds this.
};

void TransportExchange::send(EncodedRequest request) {
    has_shown_ = false;
    sent_ = std::make_shared<SentRequest>(parts_, std::move(request), shared_from_this())->send();
}

// An exchange that was over before it began.
class FailedExchange final : public Exchange {
public:
    void cancel() override { is_cancelled = true; }
    bool is_cancelled{false};
};

}  // namespace

HttpTransport::HttpTransport(HttpClient& http, base::Clock& clock, std::unique_ptr<Codec> codec,
                             HttpTransportOptions options)
    : http_(http), clock_(clock), codec_(std::move(codec)), options_(std::move(options)) {}

std::shared_ptr<Exchange> HttpTransport::ask(Request request, Progress progress,
                                             std::move_only_function<void(Outcome)> done) {
    auto encoded = codec_->encode(request);
    if (!encoded) return fail_later(http_.loop(), std::move(encoded).error(), std::move(done));
    auto exchange = std::make_shared<TransportExchange>(
        Parts{http_.sender(), clock_, options_, std::move(request.model_ref)}, std::move(progress),
        std::move(done));
    exchange->send(std::move(*encoded));
    return exchange;
}

std::shared_ptr<Exchange> fail_later(base::Loop& loop, Failure failure,
                                     std::move_only_function<void(Outcome)> done) {
    auto failed = std::make_shared<FailedExchange>();
    loop.post([failed, failure = std::move(failure), done = std::move(done)]() mutable {
        done(std::unexpected(failed->is_cancelled ? cancelled() : std::move(failure)));
    });
    return failed;
}

}  // namespace provider
