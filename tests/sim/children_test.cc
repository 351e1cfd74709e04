// Parents and children that crash at every commit.
#include "tests/sim/children.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace {

std::string lines_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += "\n  " + line;
    return text;
}

// How many random trees; `make sim SEEDS=…` sets more.
std::uint64_t trees() {
    const char* text = std::getenv("HOLON_SIM_SEEDS");
    return text ? std::strtoull(text, nullptr, 10) : 8;
}

constexpr sim::Fault kTreeFaults[] = {sim::Fault::CrashBeforeCommit, sim::Fault::CrashAfterCommit,
                                      sim::Fault::PowerLoss, sim::Fault::CommitFails};

constexpr int kTreeParts = 8;
class ChildrenPart : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of8, ChildrenPart, testing::Range(0, kTreeParts));

}  // namespace

TEST(Children, RandomTreesHoldEveryInvariant) {
    std::int64_t children = 0;
    for (std::uint64_t seed = 1; seed <= trees(); ++seed) {
        const auto outcome = sim::simulate_children({.seed = seed});
        ASSERT_TRUE(outcome.violations.empty()) << "seed " << seed << lines_of(outcome.violations);
        children += outcome.tasks;
    }
    EXPECT_GT(children, 10) << "the stories must have children in them";
}

TEST_P(ChildrenPart, ACrashAtAnyCommitLosesNoChildAndNoReport) {
    for (const std::uint64_t seed : {2ULL}) {
        const std::int64_t commits = sim::simulate_children({.seed = seed}).commits;
        for (std::int64_t at = 1; at <= commits; ++at) {
            if (at % kTreeParts != GetParam()) continue;
            const auto fault =
                kTreeFaults[static_cast<std::size_t>(at / kTreeParts) % std::size(kTreeFaults)];
            for (const auto each : {fault}) {  // They take turns: a tree has many commits.
                const auto outcome = sim::simulate_children({.seed = seed, .plans = {{each, at}}});
                ASSERT_TRUE(outcome.violations.empty())
                    << "seed " << seed << ", fault " << static_cast<int>(each) << " at commit "
                    << at << lines_of(outcome.violations);
            }
        }
    }
}

TEST(Children, TreesThatCrashAgainAndAgainEndLikeTheOthers) {
    for (std::uint64_t seed = 1; seed <= trees(); ++seed) {
        std::mt19937_64 random(seed);
        sim::Setup setup{.seed = seed};
        const int crashes = static_cast<int>(random() % 4) + 1;
        for (int i = 0; i < crashes; ++i)
            setup.plans.push_back({kTreeFaults[random() % std::size(kTreeFaults)],
                                   static_cast<std::int64_t>(random() % 60) + 1});
        const auto outcome = sim::simulate_children(setup);
        ASSERT_TRUE(outcome.violations.empty()) << "seed " << seed << lines_of(outcome.violations);
    }
}
