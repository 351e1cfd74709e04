#include "flow/scheduler/timers/timers.h"

#include <gtest/gtest.h>

namespace scheduler {
namespace {

base::Time at(std::string_view text) {
    return base::parse_time(text).value();
}

domain::Timer daily(std::string_view next) {
    return {.repeat = true,
            .next_fire_at = at(next),
            .cron = "0 9 * * *",
            .time_zone = "Europe/Berlin"};
}

TEST(CalendarTimers, FireAtTheSameHourOfTheZoneAlsoAcrossSummerTime) {
    const auto fired = move_on(daily("2026-03-28T08:00:00Z"), at("2026-03-28T08:00:01Z"));
    EXPECT_EQ(fired.due, at("2026-03-28T08:00:00Z"));
    EXPECT_EQ(fired.missed, 0);
    EXPECT_EQ(fired.timer.status, domain::TimerStatus::Active);
    EXPECT_EQ(fired.timer.next_fire_at, at("2026-03-29T07:00:00Z"));
}

TEST(CalendarTimers, TimesThatWereMissedAreOneFire) {
    const auto fired = move_on(daily("2026-06-01T07:00:00Z"), at("2026-06-04T12:00:00Z"));
    EXPECT_EQ(fired.missed, 3);
    EXPECT_EQ(fired.timer.fire_count, 1);
    EXPECT_EQ(fired.timer.next_fire_at, at("2026-06-05T07:00:00Z"));
}

TEST(CalendarTimers, AZoneThatTheSystemHasLostEndsTheTimer) {
    auto timer = daily("2026-06-01T07:00:00Z");
    timer.time_zone = "Gone/Nowhere";
    const auto fired = move_on(timer, at("2026-06-01T07:00:00Z"));
    EXPECT_EQ(fired.timer.status, domain::TimerStatus::Completed);
    EXPECT_EQ(fired.timer.next_fire_at, std::nullopt);
}

}  // namespace
}  // namespace scheduler
