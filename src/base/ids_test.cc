#include "base/ids.h"

#include <algorithm>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>

namespace base {
namespace {

class StoppedClock final : public Clock {
public:
    Time now() override { return time; }
    Time time{from_micros(1'925'089'445'678'901)};
};

TEST(Ids, AreUuidsOfVersionSeven) {
    StoppedClock clock;
    RandomIds ids(clock, 1);
    for (int i = 0; i < 100; ++i)
        EXPECT_THAT(ids.uuid(), testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-"
                                                      "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

TEST(Ids, BeginWithTheTimeInMilliseconds) {
    StoppedClock clock;
    RandomIds ids(clock, 1);
    const auto millis = static_cast<std::uint64_t>(to_micros(clock.time) / 1000);
    EXPECT_EQ(ids.uuid().substr(0, 18),
              fmt::format("{:08x}-{:04x}-7000", millis >> 16U, millis & 0xffffU));
}

TEST(Ids, StayInOrderWhenTheClockStopsOrGoesBack) {
    StoppedClock clock;
    RandomIds ids(clock, 1);
    std::vector<std::string> seen;
    // More than the 4096 that one millisecond has room for.
    for (int i = 0; i < 10'000; ++i) {
        if (i == 5'000) clock.time -= 1h;
        if (i == 9'000) clock.time += 3h;
        seen.push_back(ids.uuid());
    }
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST(Ids, AreUniqueAcrossThreadsAndSources) {
    SystemClock clock;
    RandomIds one(clock), other(clock);
    std::vector<std::vector<std::string>> seen(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < seen.size(); ++i)
            threads.emplace_back([&, i] {
                auto& ids = i % 2 == 0 ? one : other;
                for (int j = 0; j < 1'000; ++j) {
                    seen[i].push_back(ids.uuid());
                    seen[i].push_back(ids.hex32());
                }
            });
    }
    std::set<std::string> all;
    for (const auto& some : seen) all.insert(some.begin(), some.end());
    EXPECT_EQ(all.size(), 8'000U);
}

TEST(Ids, RepeatWithTheSameSeed) {
    StoppedClock clock;
    RandomIds one(clock, 7), same(clock, 7), other(clock, 8);
    EXPECT_EQ(one.uuid(), same.uuid());
    const auto hex = one.hex32();
    EXPECT_EQ(hex, same.hex32());
    EXPECT_THAT(hex, testing::MatchesRegex("[0-9a-f]{32}"));
    EXPECT_NE(hex, other.hex32());
}

TEST(Ids, StayBelowTheBound) {
    StoppedClock clock;
    RandomIds ids(clock, 1);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 200; ++i) seen.insert(ids.below(4));
    EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(ids.below(1), 0U);
    EXPECT_EQ(ids.below(0), 0U);
}

TEST(Ids, OfTwoKindsAreTwoTypes) {
    using AppleId = Id<struct Apple>;
    using PearId = Id<struct Pear>;
    static_assert(!std::is_convertible_v<AppleId, PearId>);
    static_assert(!std::equality_comparable_with<AppleId, PearId>);
    StoppedClock clock;
    RandomIds ids(clock, 1), same(clock, 1);
    const auto apple = ids.fresh<AppleId>();
    EXPECT_EQ(apple, AppleId{same.uuid()});
    EXPECT_LT(apple, ids.fresh<AppleId>());
    EXPECT_EQ(fmt::format("{}", apple), to_text(apple));
    EXPECT_TRUE(AppleId{}.empty());
}

}  // namespace
}  // namespace base
