#include "provider/chain.h"

#include "provider/classify.h"

namespace provider {
namespace {

using domain::AttemptOutcome;

std::string provider_of(std::string_view model_ref) {
    return std::string(model_ref.substr(0, model_ref.find('/')));
}

PromptBlock active_model_hint(const std::string& active, const std::string& requested) {
    std::string text = "Runtime: active_model=" + active;
    if (active != requested) text += " requested_model=" + requested;
    return {Stability::AgentScoped, std::move(text)};
}

// "<ref>: retries_exhausted after 3 attempts (server_error, status=503): <text>"
std::string summary_of(const domain::ProviderAttempt& last, const Failure& failure) {
    const std::string how = last.outcome == AttemptOutcome::RetriesExhausted
                                ? fmt::format("retries_exhausted after {} attempts", last.attempt)
                                : "fail_fast";
    const std::string status = failure.status ? fmt::format(", status={}", *failure.status) : "";
    return fmt::format("{}: {} ({}{}): {}", last.model_ref, how, base::enum_name(failure.kind),
                       status, failure.message);
}

// One request on its way through the candidates. Owned by the callback it waits for: that of the
// candidate, of the backoff timer, or of a job it posted.
class ChainExchange final : public Exchange, public std::enable_shared_from_this<ChainExchange> {
public:
    ChainExchange(std::shared_ptr<const std::vector<Candidate>> candidates, Chain::Parts parts,
                  Request request, Progress progress, std::move_only_function<void(Outcome)> done)
        : candidates_(std::move(candidates)),
          parts_(parts),
          request_(std::move(request)),
          progress_(std::move(progress)),
          done_(std::move(done)) {
        timeline_.requested_model_ref = request_.model_ref;
    }

    void attempt() {
        const Candidate& candidate = (*candidates_)[candidate_];
        ++attempt_;
        if (candidate.refusal) return refuse(candidate);
        timeline_.active_model_ref = candidate.model_ref;
        timeline_.attempts.push_back({.provider = provider_of(candidate.model_ref),
                                      .model_ref = candidate.model_ref,
                                      .attempt = attempt_,
                                      .max_attempts = parts_.policy.retries_max + 1,
                                      .started_at = parts_.clock.now()});
        Request request = request_;
        request.model_ref = candidate.model_ref;
        add_system_block(request.frame, active_model_hint(candidate.model_ref, request_.model_ref));
        exchange_ = candidate.provider->ask(
            std::move(request), progress_,
            [self = shared_from_this()](Outcome outcome) { self->settle(std::move(outcome)); });
    }

    void cancel() override {
        if (cancelled_ || !done_) return;
        cancelled_ = true;
        if (const auto asked = exchange_.lock()) return asked->cancel();
        parts_.loop.cancel(backoff_);
        parts_.loop.post([self = shared_from_this()] {
            self->finish(std::unexpected(
                Failure{.kind = FailureKind::Cancelled,
                        .message = "the request was cancelled while it waited for a retry"}));
        });
    }

private:
    void refuse(const Candidate& candidate) {
        timeline_.attempts.push_back(
            {.provider = provider_of(candidate.model_ref), .model_ref = candidate.model_ref});
        // Posted, as it may be the outcome of a request that ask() has not returned from.
        parts_.loop.post([self = shared_from_this(), refusal = *candidate.refusal] {
            if (!self->cancelled_) self->on_failure(refusal, self->timeline_.attempts.back());
        });
    }

    void settle(Outcome outcome) {
        exchange_.reset();
        auto& record = timeline_.attempts.back();
        record.completed_at = parts_.clock.now();
        record.duration_ms = base::millis_between(*record.started_at, *record.completed_at);
        record.token_usage = outcome ? outcome->usage : outcome.error().usage;
        if (record.token_usage)
            timeline_.aggregated_token_usage =
                timeline_.aggregated_token_usage.value_or(domain::TokenUsage{}) +
                *record.token_usage;
        if (outcome) {
            timeline_.winning_model_ref = record.model_ref;
            return finish(std::move(outcome));
        }
        on_failure(std::move(outcome).error(), record);
    }

    void on_failure(Failure failure, domain::ProviderAttempt& record) {
        record.failure_kind = base::enum_name(failure.kind);
        record.disposition = base::enum_name(disposition(failure));
        record.transport_diagnostics = failure.diagnostics;
        const auto jitter_max = static_cast<std::uint64_t>(parts_.policy.jitter_max.count());
        const std::chrono::milliseconds jitter(jitter_max ? parts_.ids.below(jitter_max) : 0);
        const NextMove move = decide(parts_.policy, failure,
                                     {.attempt = attempt_,
                                      .has_fallback = candidate_ + 1 < candidates_->size(),
                                      .jitter = jitter});
        if (const auto* again = std::get_if<TryAgain>(&move))
            return try_again(*again, failure, record);
        const auto* advance = std::get_if<Advance>(&move);
        record.outcome = advance ? advance->outcome : std::get<GiveUp>(move).outcome;
        record.advanced_to_fallback = advance != nullptr;
        if (!summary_.empty()) summary_ += "; ";
        summary_ += summary_of(record, failure);
        if (advance) {
            ++candidate_;
            report(record, failure, std::chrono::milliseconds(0));
            attempt_ = 0;
            return attempt();
        }
        failure.message = summary_;
        finish(std::unexpected(std::move(failure)));
    }

    void try_again(const TryAgain& again, const Failure& failure, domain::ProviderAttempt& record) {
        record.outcome = AttemptOutcome::Retrying;
        record.backoff_ms = again.backoff.count();
        report(record, failure, again.backoff);
        backoff_ =
            parts_.loop.after(again.backoff, [self = shared_from_this()] { self->attempt(); });
    }

    // To people who watch; the next request is that of candidate_.
    void report(const domain::ProviderAttempt& failed, const Failure& failure,
                std::chrono::milliseconds wait) {
        if (!progress_) return;
        progress_(Retry{.model_ref = failed.model_ref,
                        .next_model_ref = (*candidates_)[candidate_].model_ref,
                        .attempt = failed.attempt,
                        .attempts_max = failed.max_attempts,
                        .wait = wait,
                        .reason = failure.message});
    }

    void finish(Outcome outcome) {
        (outcome ? outcome->timeline : outcome.error().timeline) = std::move(timeline_);
        progress_ = nullptr;  // The callbacks may hold this; both are released.
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    std::shared_ptr<const std::vector<Candidate>> candidates_;
    Chain::Parts parts_;
    Request request_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    domain::AttemptTimeline timeline_;
    std::string summary_;
    std::size_t candidate_{0};
    std::int64_t attempt_{0};  // Of the current candidate.
    bool cancelled_{false};
    // Weak, as it holds this in its callback: a loop that is dropped half-way must free both.
    std::weak_ptr<Exchange> exchange_;
    base::Loop::TimerHandle backoff_{base::Loop::TimerHandle::None};
};

}  // namespace

Chain::Chain(std::vector<Candidate> candidates, Parts parts)
    : candidates_(std::make_shared<const std::vector<Candidate>>(std::move(candidates))),
      parts_(parts) {
    CHECK(!candidates_->empty(), "a chain has at least one candidate");
}

std::shared_ptr<Exchange> Chain::ask(Request request, Progress progress,
                                     std::move_only_function<void(Outcome)> done) {
    auto exchange = std::make_shared<ChainExchange>(candidates_, parts_, std::move(request),
                                                    std::move(progress), std::move(done));
    exchange->attempt();
    return exchange;
}

}  // namespace provider
