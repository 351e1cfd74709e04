#include "flow/turn/patience.h"

#include <algorithm>

#include "provider/classify.h"
#include "provider/retry.h"

namespace turn {
namespace {

using std::chrono::milliseconds;

// The same for the same turn and pass, so that a decision made twice is the same.
std::size_t spread(const domain::Attempt& attempt) {
    return std::hash<std::string>{}(
        fmt::format("{}/{}", attempt.run_id.value, attempt.failed_passes));
}

milliseconds backoff(const domain::Attempt& attempt) {
    constexpr std::int64_t kDoublingsMax = 16;
    const auto doubled =
        kPassBackoffFirst * (std::int64_t{1} << std::min(attempt.failed_passes, kDoublingsMax));
    const milliseconds longest = std::min<milliseconds>(kPassBackoffMax, doubled);
    const auto quarter = static_cast<std::size_t>(longest.count() / 4);
    return longest - milliseconds(static_cast<std::int64_t>(spread(attempt) % (quarter + 1)));
}

}  // namespace

bool is_known_limit(const domain::Attempt& attempt, const provider::Failure& failure) {
    return failure.kind == provider::FailureKind::RateLimited && failure.retry_after &&
           *failure.retry_after > provider::kRetryAfterMax && *failure.retry_after <= kParkMax &&
           attempt.parks < kParksMax;
}

bool may_pass(const provider::Failure& failure) {
    if (failure.kind == provider::FailureKind::Cancelled ||
        failure.kind == provider::FailureKind::ContextLengthExceeded)
        return false;
    if (provider::disposition(failure) == provider::Disposition::Retryable) return true;
    // The last candidate may have been refused for good; an earlier one may come back.
    return std::ranges::any_of(failure.timeline.attempts, [](const auto& attempt) {
        return attempt.outcome == domain::AttemptOutcome::RetriesExhausted;
    });
}

std::optional<milliseconds> next_pass(const domain::Attempt& attempt,
                                      const provider::Failure& failure, const Input& input) {
    if (is_known_limit(attempt, failure)) return *failure.retry_after;
    if (!may_pass(failure)) return std::nullopt;
    const milliseconds wait =
        std::max(backoff(attempt), failure.retry_after.value_or(milliseconds(0)));
    const base::Time since = attempt.failing_since.value_or(input.now);
    if (input.now + wait - since > input.patience) return std::nullopt;
    return wait;
}

}  // namespace turn
