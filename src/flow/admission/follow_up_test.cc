#include "flow/admission/follow_up.h"

#include <gmock/gmock.h>

namespace admission {
namespace {

using testing::HasSubstr;

constexpr base::Time kStart{std::chrono::hours(500'000)};
constexpr config::FollowUpLimits kLimits{.depth = 3, .per_hour = 2};

domain::Message follow_up_of_depth(std::int64_t depth) {
    return {.kind = domain::MessageKind::InternalFollowup,
            .origin = domain::SystemOrigin{"tool_enqueue"},
            .metadata = json::object{{"follow_up_depth", depth}}};
}

TEST(FollowUp, AChainEndsAtItsDepth) {
    EXPECT_EQ(refuse_follow_up({}, {}, kLimits, kStart), std::nullopt);
    EXPECT_EQ(refuse_follow_up(follow_up_of_depth(2), {}, kLimits, kStart), std::nullopt);
    EXPECT_THAT(refuse_follow_up(follow_up_of_depth(3), {}, kLimits, kStart),
                testing::Optional(HasSubstr("runtime.max_follow_up_depth")));
}

TEST(FollowUp, OnlyTheRuntimeSaysHowDeepAChainIs) {
    auto forged = follow_up_of_depth(9);
    forged.origin = domain::WebhookOrigin{.source = "x"};
    EXPECT_EQ(follow_up_depth(forged), 0);
    EXPECT_EQ(follow_up_depth(follow_up_of_depth(9)), 9);
}

TEST(FollowUp, AnHourHasRoomForSoMany) {
    domain::AgentStatistics statistics;
    count_follow_up(statistics, kStart);
    EXPECT_EQ(refuse_follow_up({}, statistics, kLimits, kStart), std::nullopt);
    count_follow_up(statistics, kStart + std::chrono::minutes(1));
    statistics.follow_up_refusal_reported = true;
    const auto later = kStart + std::chrono::minutes(59);
    EXPECT_THAT(refuse_follow_up({}, statistics, kLimits, later),
                testing::Optional(HasSubstr("runtime.max_follow_ups_per_hour")));
    const auto next = kStart + std::chrono::minutes(60);
    EXPECT_EQ(refuse_follow_up({}, statistics, kLimits, next), std::nullopt);
    count_follow_up(statistics, next);
    EXPECT_EQ(statistics.follow_ups, 1);
    EXPECT_FALSE(statistics.follow_up_refusal_reported);
}

TEST(FollowUp, AClockThatWasSetBackBlocksNobody) {
    domain::AgentStatistics statistics{.follow_ups_since = kStart, .follow_ups = 99};
    EXPECT_EQ(refuse_follow_up({}, statistics, kLimits, kStart - std::chrono::hours(5)),
              std::nullopt);
}

}  // namespace
}  // namespace admission
