#include "base/time.h"

#include <gmock/gmock.h>

namespace base {
namespace {

Time at(std::string_view text) {
    const auto time = parse_time(text);
    EXPECT_TRUE(time) << text;
    return time.value_or(Time{});
}

TEST(Time, IsWrittenInUtcWithSixDecimals) {
    EXPECT_EQ(to_text(Time{}), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(to_text(from_micros(1'925'089'445'678'901)), "2031-01-02T03:04:05.678901Z");
    EXPECT_EQ(to_text(from_micros(-1)), "1969-12-31T23:59:59.999999Z");
}

TEST(Time, ReadsBackWhatItWrites) {
    for (const std::int64_t micros :
         {0L, -1L, 1L, 1'925'089'445'678'901L, -62'135'596'800'000'000L})
        EXPECT_EQ(to_micros(at(to_text(from_micros(micros)))), micros);
}

TEST(Time, AcceptsAnyOffsetAndAnyDecimals) {
    const Time noon = at("2031-01-02T12:00:00Z");
    EXPECT_EQ(at("2031-01-02t12:00:00z"), noon);
    EXPECT_EQ(at("2031-01-02 14:30:00+02:30"), noon);
    EXPECT_EQ(at("2031-01-01T23:00:00-13:00"), noon);
    EXPECT_EQ(at("2031-01-02T12:00:00.5Z"), noon + 500ms);
    EXPECT_EQ(at("2031-01-02T12:00:00.1234569Z"), noon + 123'456us);
    EXPECT_EQ(at("2031-01-02T11:59:60Z"), noon);  // A leap second.
    EXPECT_EQ(at("2032-02-29T00:00:00Z") - at("2032-02-28T00:00:00Z"), 24h);
}

TEST(Time, RefusesWhatIsNoTime) {
    for (const std::string_view text : {"",
                                        "2031",
                                        "2031-01-02",
                                        "2031-01-02T03:04:05",
                                        "2031-01-02T03:04Z",
                                        "2031-13-02T03:04:05Z",
                                        "2031-00-02T03:04:05Z",
                                        "2031-02-29T03:04:05Z",
                                        "2031-01-02T24:04:05Z",
                                        "2031-01-02T03:60:05Z",
                                        "2031-01-02T03:04:61Z",
                                        "2031/01/02T03:04:05Z",
                                        "2031-01-02X03:04:05Z",
                                        "2031-01-02T03:04:05.Z",
                                        "2031-01-02T03:04:05+0100",
                                        "2031-01-02T03:04:05+01",
                                        "2031-01-02T03:04:05+24:00",
                                        "2031-01-02T03:04:05Zz",
                                        "2031-01-02T03:04:05.5",
                                        "-031-01-02T03:04:05Z",
                                        " 2031-01-02T03:04:05Z"}) {
        const auto time = parse_time(text);
        EXPECT_TRUE(!time && time.error().code == ErrorCode::InvalidInput) << text;
    }
}

TEST(Time, QuotesOnlyPrintableTextInAnError) {
    const auto error = parse_time(std::string(39, 'x') + "é\n\xff").error();
    EXPECT_EQ(error.message, "not an RFC 3339 time: '" + std::string(39, 'x') + "é'");
    EXPECT_EQ(parse_time("a\n\xff").error().message, "not an RFC 3339 time: 'a\\n\xEF\xBF\xBD'");
}

TEST(Time, CountsMillisecondsBetween) {
    EXPECT_EQ(millis_between(Time{}, Time{} + 1'999us), 1);
    EXPECT_EQ(millis_between(Time{} + 2ms, Time{}), -2);
}

TEST(Time, ComesFromTheSystemClock) {
    const Time now = SystemClock().now();
    EXPECT_GT(now, at("2024-01-01T00:00:00Z"));
    EXPECT_LE(now, SystemClock().now());
}

}  // namespace
}  // namespace base
