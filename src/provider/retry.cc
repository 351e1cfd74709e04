#include "provider/retry.h"

#include <algorithm>

#include "provider/classify.h"

namespace provider {

NextMove decide(const RetryPolicy& policy, const Failure& failure, const FailedAttempt& attempt) {
    using domain::AttemptOutcome;
    const bool retryable = disposition(failure) == Disposition::Retryable;
    const auto asked_for = failure.retry_after.value_or(0ms);
    if (retryable && attempt.attempt <= policy.retries_max && asked_for <= policy.retry_after_max)
        return TryAgain{std::max(policy.backoff_step * attempt.attempt, asked_for) +
                        attempt.jitter};
    const auto outcome =
        retryable ? AttemptOutcome::RetriesExhausted : AttemptOutcome::FailFastAborted;
    const bool is_final = failure.kind == FailureKind::Cancelled ||
                          failure.kind == FailureKind::ContextLengthExceeded;
    if (attempt.has_fallback && !is_final) return Advance{outcome};
    return GiveUp{outcome};
}

}  // namespace provider
