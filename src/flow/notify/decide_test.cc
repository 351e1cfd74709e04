#include "flow/notify/decide.h"

#include <gmock/gmock.h>

namespace notify {
namespace {

using domain::DeliveryStatus;
using domain::OperatorBinding;
using domain::OperatorDelivery;
using namespace std::chrono_literals;

constexpr base::Time kNow = base::Time(1'925'000'000'000'000us);

OperatorDelivery pending(std::int64_t attempts) {
    return {.delivery_intent_id = "odi_1", .attempts = attempts, .next_attempt_at = kNow};
}

TEST(Begin, CountsTheAttemptAndIsDueAgainWhenItsLeaseIsOver) {
    const auto begun = begin(pending(2), {.attempts_max = 3, .lease = 5s}, kNow);
    EXPECT_EQ(begun.attempts, 3);
    EXPECT_EQ(begun.next_attempt_at, kNow + 5s);
    EXPECT_FALSE(is_over(begun));
}

TEST(Begin, ADeliveryThatHadAllItsAttemptsIsOver) {
    const auto over = begin(pending(3), {.attempts_max = 3}, kNow);
    EXPECT_EQ(over.status, DeliveryStatus::FailedToSubmit);
    EXPECT_EQ(over.attempts, 3);
    EXPECT_FALSE(over.next_attempt_at);
    EXPECT_EQ(over.failure_summary, "the process ended before the outcome was known");
}

TEST(Settle, WhatHasArrivedIsOver) {
    const auto over = settle(pending(1), Delivered{"t-9"}, {}, kNow, 0);
    EXPECT_EQ(over.status, DeliveryStatus::AcceptedByTransport);
    EXPECT_EQ(over.transport_delivery_id, "t-9");
    EXPECT_FALSE(over.next_attempt_at);
}

TEST(Settle, PausesGrowUpToTheirBoundAndJitterIsAtMostAQuarter) {
    const Policy policy{.attempts_max = 100};
    const std::vector<std::pair<std::int64_t, std::chrono::milliseconds>> table{
        {1, 2s}, {2, 4s}, {3, 8s}, {10, 1024s}, {11, 1800s}, {99, 1800s}};
    for (const auto& [attempts, pause] : table) {
        EXPECT_EQ(settle(pending(attempts), Failed{"no"}, policy, kNow, 0).next_attempt_at,
                  kNow + pause);
        const auto later = settle(pending(attempts), Failed{"no"}, policy, kNow, 999);
        EXPECT_GT(*later.next_attempt_at, kNow + pause);
        EXPECT_LE(*later.next_attempt_at, kNow + pause + pause / 4);
    }
}

TEST(Settle, AFinalFailureAndTheLastAttemptAreTheEnd) {
    for (const auto& [attempts, failed] :
         {std::pair{1, Failed{"gone", true}}, std::pair{3, Failed{"gone"}}}) {
        const auto over = settle(pending(attempts), failed, {.attempts_max = 3}, kNow, 0);
        EXPECT_EQ(over.status, DeliveryStatus::FailedToSubmit);
        EXPECT_FALSE(over.next_attempt_at);
        EXPECT_EQ(over.failure_summary, "gone");
    }
}

TEST(Settle, TheReasonIsOneBoundedPrintableLine) {
    const auto failed =
        settle(pending(1), Failed{"a\nb\x1b[2J" + std::string(999, 'x')}, {}, kNow, 0);
    EXPECT_EQ(failed.failure_summary->substr(0, 4), "a b\\");
    EXPECT_LE(failed.failure_summary->size(), kFailureChars + 4);
}

TEST(OutcomeOfStatus, OnlyWhatMayPassIsTriedAgain) {
    EXPECT_EQ(outcome_of_status(204, ""), Outcome(Delivered{}));
    EXPECT_EQ(outcome_of_status(200, R"({"transport_delivery_id":"t-1"})"),
              Outcome(Delivered{"t-1"}));
    for (const int status : {500, 503, 408, 425, 429})
        EXPECT_FALSE(std::get<Failed>(outcome_of_status(status, "")).is_final) << status;
    for (const int status : {301, 400, 401, 404, 410})
        EXPECT_TRUE(std::get<Failed>(outcome_of_status(status, "")).is_final) << status;
}

TEST(RouteOf, PrefersTheTransportOfTheTurnAsLongAsItIsBound) {
    const OperatorBinding first{.binding_id = "a", .default_route_id = "room-a"};
    const OperatorBinding second{.binding_id = "b", .default_route_id = "room-b"};
    OperatorBinding revoked{.binding_id = "0", .status = domain::BindingStatus::Revoked};
    const std::vector all{revoked, first, second};
    EXPECT_EQ(route_of(all, std::nullopt), (Route{"a", "room-a"}));
    EXPECT_EQ(route_of(all, domain::OperatorRoute{"b", "thread-7"}), (Route{"b", "thread-7"}));
    EXPECT_EQ(route_of(all, domain::OperatorRoute{"b"}), (Route{"b", "room-b"}));
    EXPECT_EQ(route_of(all, domain::OperatorRoute{"0", "x"}), (Route{"a", "room-a"}));
    EXPECT_EQ(route_of({revoked}, std::nullopt), std::nullopt);
    EXPECT_EQ(route_of({}, domain::OperatorRoute{"b"}), std::nullopt);
}

}  // namespace
}  // namespace notify
