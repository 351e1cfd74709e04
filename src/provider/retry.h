// What to do after an attempt that failed. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <variant>

#include "provider/provider.h"

namespace provider {

using namespace std::chrono_literals;

inline constexpr std::int64_t kRetriesMax = 2;
inline constexpr std::chrono::milliseconds kBackoffStep = 200ms;
inline constexpr std::chrono::milliseconds kJitterMax = 100ms;  // Added at random, so that agents
                                                                // which failed together spread out.
inline constexpr std::chrono::milliseconds kRetryAfterMax = 30s;

struct RetryPolicy {
    std::int64_t retries_max{kRetriesMax};
    std::chrono::milliseconds backoff_step{kBackoffStep};
    std::chrono::milliseconds jitter_max{kJitterMax};
    std::chrono::milliseconds retry_after_max{kRetryAfterMax};
    friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

struct FailedAttempt {
    std::int64_t attempt{1};  // Of this candidate, the first is 1.
    bool has_fallback{false};
    std::chrono::milliseconds jitter{0};  // Below the policy's jitter_max.
};

// The same candidate again, after `backoff`.
struct TryAgain {
    std::chrono::milliseconds backoff{0};
    friend bool operator==(const TryAgain&, const TryAgain&) = default;
};
// The next candidate, at once. `outcome` is how this one ended.
struct Advance {
    domain::AttemptOutcome outcome{};
    friend bool operator==(const Advance&, const Advance&) = default;
};
struct GiveUp {
    domain::AttemptOutcome outcome{};
    friend bool operator==(const GiveUp&, const GiveUp&) = default;
};
using NextMove = std::variant<TryAgain, Advance, GiveUp>;

// The server's Retry-After is waited for if it is longer than our own backoff. One beyond the
// policy's bound ends the candidate: asking earlier would be refused again, and a caller that
// can wait that long finds the time in the failure. A fail-fast error ends its candidate only,
// except two: a cancelled request must not go out again, and a prompt too long ends the turn so
// that it can be shortened.
NextMove decide(const RetryPolicy& policy, const Failure& failure, const FailedAttempt& attempt);

}  // namespace provider
