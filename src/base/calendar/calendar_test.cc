#include "base/calendar/calendar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace calendar {
namespace {

base::Time at(std::string_view text) {
    return base::parse_time(text).value();
}

std::string next(std::string_view cron, std::string_view after,
                 const std::string& zone = "Europe/Berlin") {
    const auto found = next_cron(cron, zone, at(after));
    return found ? base::to_text(*found).substr(0, 16) : found.error().message;
}

TEST(Durations, AreWrittenWithUnits) {
    EXPECT_EQ(parse_duration_ms("90s"), 90'000);
    EXPECT_EQ(parse_duration_ms("1h30m"), 5'400'000);
    EXPECT_EQ(parse_duration_ms("500ms"), 500);
    EXPECT_EQ(parse_duration_ms("2d"), 172'800'000);
    EXPECT_EQ(parse_duration_ms("0s"), 0);
    for (const char* wrong : {"", "90", "s", "1h1h", "30m1h", "-5m", "1.5h", "1x", "1 h",
                              "99999999999s", "9999999999d"})
        EXPECT_FALSE(parse_duration_ms(wrong)) << wrong;
    EXPECT_THAT(parse_duration_ms("soon").error().message, testing::HasSubstr("1h30m"));
}

TEST(LocalTimes, AreTheNextOfTheirKindInTheZone) {
    const auto now = at("2026-07-01T10:00:00Z");  // Noon in Berlin.
    EXPECT_EQ(next_local("13:00", "Europe/Berlin", now), at("2026-07-01T11:00:00Z"));
    EXPECT_EQ(next_local("09:00", "Europe/Berlin", now), at("2026-07-02T07:00:00Z"));
    EXPECT_EQ(next_local("12:00:30", "Europe/Berlin", now), at("2026-07-01T10:00:30Z"));
    EXPECT_EQ(next_local("2026-12-24 18:00", "Europe/Berlin", now), at("2026-12-24T17:00:00Z"));
    EXPECT_FALSE(next_local("2026-06-30 18:00", "Europe/Berlin", now));
    for (const char* wrong : {"", "9", "24:00", "12:60", "noon", "2026-02-30 10:00", "12:00:00:00"})
        EXPECT_FALSE(next_local(wrong, "UTC", now)) << wrong;
    EXPECT_THAT(next_local("09:00", "Mars/Olympus", now).error().message,
                testing::HasSubstr("Europe/Berlin"));
}

TEST(LocalTimes, FollowSummerTime) {
    // At 02:00 on the 29th of March the clocks of Berlin go to 03:00.
    const auto before = at("2026-03-28T12:00:00Z");
    EXPECT_EQ(next_local("2026-03-29 02:30", "Europe/Berlin", before), at("2026-03-29T01:00:00Z"));
    EXPECT_EQ(next_local("2026-03-29 09:00", "Europe/Berlin", before), at("2026-03-29T07:00:00Z"));
}

TEST(Cron, FindsTheNextTimeInTheZone) {
    EXPECT_EQ(next("0 9 * * *", "2026-07-01T10:00:00Z"), "2026-07-02T07:00");
    EXPECT_EQ(next("0 9 * * *", "2026-12-01T07:59:59Z"), "2026-12-01T08:00");
    EXPECT_EQ(next("0 9 * * *", "2026-12-01T08:00:00Z"), "2026-12-02T08:00");
    EXPECT_EQ(next("*/15 * * * *", "2026-07-01T10:01:00Z"), "2026-07-01T10:15");
    EXPECT_EQ(next("0 9 * * mon-fri", "2026-07-03T12:00:00Z"), "2026-07-06T07:00");
    EXPECT_EQ(next("0 9 * * 7", "2026-07-03T12:00:00Z"), "2026-07-05T07:00");
    EXPECT_EQ(next("30 8 1 jan,jul *", "2026-07-01T07:00:00Z"), "2027-01-01T07:30");
    EXPECT_EQ(next("0 0 29 2 *", "2026-07-01T07:00:00Z", "UTC"), "2028-02-29T00:00");
    EXPECT_EQ(next("0 0 13 * fri", "2026-07-01T07:00:00Z", "UTC"), "2026-07-03T00:00")
        << "either day is enough";
}

TEST(Cron, FiresOnceWhereTheClockGoesBack) {
    // At 03:00 on the 25th of October the clocks of Berlin go to 02:00.
    EXPECT_EQ(next("30 2 * * *", "2026-10-24T12:00:00Z"), "2026-10-25T00:30");
    EXPECT_EQ(next("30 2 * * *", "2026-10-25T00:30:00Z"), "2026-10-26T01:30");
    EXPECT_EQ(next("30 2 * * *", "2026-10-25T01:10:00Z"), "2026-10-26T01:30");
}

TEST(Cron, SaysWhatIsWrong) {
    for (const char* wrong : {"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
                              "* * * * 8", "5-1 * * * *", "*/0 * * * *", "a * * * *", ", * * * *"})
        EXPECT_FALSE(next_cron(wrong, "UTC", at("2026-07-01T10:00:00Z"))) << wrong;
    EXPECT_THAT(next("0 9 * *", "2026-07-01T10:00:00Z"), testing::HasSubstr("five fields"));
    EXPECT_THAT(next("0 0 31 2 *", "2026-07-01T10:00:00Z"), testing::HasSubstr("fits no day"));
}

TEST(Zones, HaveTheNameOfTheMachines) {
    EXPECT_TRUE(check_zone(local_zone()));
    EXPECT_FALSE(check_zone("Nowhere/Nothing"));
}

}  // namespace
}  // namespace calendar
