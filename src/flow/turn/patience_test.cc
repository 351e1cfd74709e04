#include "flow/turn/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;
using namespace std::chrono_literals;
using provider::Failure;
using provider::FailureKind;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

Input patient(std::chrono::milliseconds patience, base::Time now = kNow) {
    Input with = input(now);
    with.patience = patience;
    return with;
}

const Failure kDown{.kind = FailureKind::ServerError, .message = "down", .status = 503};

TEST(Patience, TheWaitDoublesUpToAMinuteAndDiffersFromTurnToTurn) {
    domain::Attempt attempt = thinking().attempt;
    const std::vector<std::pair<std::int64_t, std::chrono::milliseconds>> rows{
        {0, 1000ms}, {1, 2000ms}, {3, 8000ms}, {6, 60'000ms}, {60, 60'000ms}};
    for (const auto& [passes, longest] : rows) {
        attempt.failed_passes = passes;
        const auto wait = next_pass(attempt, kDown, patient(12h));
        ASSERT_TRUE(wait.has_value());
        EXPECT_THAT(*wait, AllOf(Ge(longest * 3 / 4), Le(longest)));
    }
    std::set<std::chrono::milliseconds> waits;
    for (const char* run : {"a", "b", "c", "d"}) {
        attempt.run_id = {run};
        waits.insert(*next_pass(attempt, kDown, patient(12h)));
    }
    EXPECT_GT(waits.size(), 1U);
}

TEST(Patience, WhatTheServerAsksForIsWaitedForWithinThePatience) {
    Failure limited = kDown;
    limited.retry_after = 45s;
    EXPECT_EQ(next_pass(thinking().attempt, limited, patient(5min)), 45s);
    EXPECT_EQ(next_pass(thinking().attempt, limited, patient(44s)), std::nullopt);
    limited.kind = FailureKind::RateLimited;
    EXPECT_EQ(next_pass(thinking().attempt, limited, patient(0ms)), 45s) << "its end is known";
}

TEST(Patience, OnlyWhatMayPassIsWaitedFor) {
    for (const auto kind : {FailureKind::Timeout, FailureKind::Connection, FailureKind::RateLimited,
                            FailureKind::ServerError, FailureKind::InvalidResponse})
        EXPECT_TRUE(may_pass({.kind = kind})) << static_cast<int>(kind);
    for (const auto kind :
         {FailureKind::AuthError, FailureKind::ContractError, FailureKind::UnsupportedTransport,
          FailureKind::ContextLengthExceeded, FailureKind::Cancelled, FailureKind::Unknown})
        EXPECT_FALSE(may_pass({.kind = kind})) << static_cast<int>(kind);
    Failure last_was_refused{.kind = FailureKind::AuthError};
    last_was_refused.timeline.attempts = {
        {.model_ref = "a/one", .outcome = domain::AttemptOutcome::RetriesExhausted},
        {.model_ref = "b/two", .outcome = domain::AttemptOutcome::FailFastAborted}};
    EXPECT_TRUE(may_pass(last_was_refused)) << "the first model may come back";
}

// Ruling 19.
TEST(Patience, AnOutageParksTheTurnUntilItIsOverOrThePatienceIsSpent) {
    const ModelFailed failed{.round = 1, .failure = kDown};
    Facts facts = thinking();
    base::Time now = kNow;
    int passes = 0;
    while (true) {
        const Step step = decide(facts, failed, patient(5min, now));
        ++passes;
        if (step.closed()) {
            EXPECT_EQ(step.attempt.terminal->reason, "server_error");
            ASSERT_EQ(step.briefs.size(), 1U);
            EXPECT_THAT(step.briefs[0].text, HasSubstr("given up after"));
            break;
        }
        EXPECT_THAT(kinds(step), ElementsAre("turn_parked"));
        const auto& parked = std::get<domain::Parked>(step.attempt.state);
        EXPECT_THAT(step.effects, ElementsAre(Effect{WaitUntil{1, parked.until}}));
        EXPECT_EQ(step.attempt.parks, 0) << "those are for limits whose end is known";
        now = parked.until;
        facts = after(facts, step);
        facts = after(facts, decide(facts, WaitOver{1}, patient(5min, now)));
    }
    EXPECT_GE(now - kNow, 4min);
    EXPECT_LE(now - kNow, 5min);
    EXPECT_THAT(passes, AllOf(Ge(9), Le(16)));
}

TEST(Patience, AReplyEndsTheOutage) {
    Facts facts = after(
        thinking(), decide(thinking(), ModelFailed{.round = 1, .failure = kDown}, patient(5min)));
    ASSERT_TRUE(facts.attempt.failing_since.has_value());
    facts = after(facts, WaitOver{1});
    facts = after(facts, reply(1, {use("a", "AgentGet")}));
    EXPECT_EQ(facts.attempt.failing_since, std::nullopt);
    EXPECT_EQ(facts.attempt.failed_passes, 0);
}

}  // namespace
}  // namespace turn
