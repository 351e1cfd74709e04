#include "provider/retry.h"

#include <gtest/gtest.h>

namespace provider {
namespace {

using domain::AttemptOutcome;

struct Row {
    std::string_view name;
    Failure failure;
    FailedAttempt attempt;
    NextMove move;
};

TEST(Retry, EveryFailureHasANextMove) {
    const Failure down{.kind = FailureKind::ServerError, .status = 503};
    const Failure limited{.kind = FailureKind::RateLimited, .status = 429, .retry_after = 5s};
    const Failure limited_long{.kind = FailureKind::RateLimited, .retry_after = 1h};
    const Failure limited_short{.kind = FailureKind::RateLimited, .retry_after = 1ms};
    const Failure denied{.kind = FailureKind::AuthError, .status = 401};
    const Failure too_long{.kind = FailureKind::ContextLengthExceeded, .status = 400};
    const Failure cancelled{.kind = FailureKind::Cancelled};
    const Failure never{.kind = FailureKind::ServerError, .status = 501};
    const std::vector<Row> rows{
        {"first try", down, {1, false}, TryAgain{200ms}},
        {"second try", down, {2, false}, TryAgain{400ms}},
        {"jitter is added", down, {2, false, 70ms}, TryAgain{470ms}},
        {"a fallback waits its turn", down, {2, true}, TryAgain{400ms}},
        {"third try", down, {3, false}, GiveUp{AttemptOutcome::RetriesExhausted}},
        {"third try, fallback", down, {3, true}, Advance{AttemptOutcome::RetriesExhausted}},
        {"timeout", {.kind = FailureKind::Timeout}, {1, false}, TryAgain{200ms}},
        {"connection", {.kind = FailureKind::Connection}, {1, false}, TryAgain{200ms}},
        {"Retry-After", limited, {1, true, 3ms}, TryAgain{5003ms}},
        {"a limit far off", limited_long, {1, false}, GiveUp{AttemptOutcome::RetriesExhausted}},
        {"a limit far off, fallback",
         limited_long,
         {1, true},
         Advance{AttemptOutcome::RetriesExhausted}},
        {"our backoff is the least", limited_short, {2, false}, TryAgain{400ms}},
        {"auth", denied, {1, false}, GiveUp{AttemptOutcome::FailFastAborted}},
        {"auth, fallback", denied, {1, true}, Advance{AttemptOutcome::FailFastAborted}},
        {"501", never, {1, false}, GiveUp{AttemptOutcome::FailFastAborted}},
        {"prompt too long", too_long, {1, true}, GiveUp{AttemptOutcome::FailFastAborted}},
        {"cancelled", cancelled, {1, true}, GiveUp{AttemptOutcome::FailFastAborted}},
    };
    for (const auto& row : rows)
        EXPECT_EQ(decide(RetryPolicy{}, row.failure, row.attempt), row.move) << row.name;
}

TEST(Retry, APolicyWithoutRetriesAsksOnce) {
    EXPECT_EQ(decide({.retries_max = 0}, {.kind = FailureKind::Timeout}, {1, false}),
              NextMove{GiveUp{AttemptOutcome::RetriesExhausted}});
}

}  // namespace
}  // namespace provider
