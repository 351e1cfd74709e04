// Crashes everywhere: after each commit, before each commit, with and without power, with a full
// disk.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/sim/simulation.h"

namespace {

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += "\n  " + line;
    return text;
}

// How many random seeds to run; `make sim SEEDS=…` sets more.
std::uint64_t seeds() {
    const char* text = std::getenv("HOLON_SIM_SEEDS");
    return text ? std::strtoull(text, nullptr, 10) : 40;
}
// The first of them; tests/torture/seeds.py runs them in batches.
std::uint64_t first_seed() {
    const char* text = std::getenv("HOLON_SIM_FIRST_SEED");
    return text ? std::strtoull(text, nullptr, 10) : 1;
}

// The long tests run in parts, each a test of its own, so that CTest can spread them over shards.
constexpr int kParts = 8;
class SimulationPart : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of8, SimulationPart, testing::Range(0, kParts));

constexpr sim::Fault kFaults[] = {sim::Fault::CrashBeforeCommit, sim::Fault::CrashAfterCommit,
                                  sim::Fault::PowerLoss, sim::Fault::CommitFails};

}  // namespace

TEST(Simulation, RunsWithoutFaultsHoldEveryInvariant) {
    std::int64_t tasks = 0, results_read = 0;
    int compacted = 0, summarised = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto outcome = sim::simulate({.seed = seed});
        ASSERT_TRUE(outcome.violations.empty()) << "seed " << seed << joined(outcome.violations);
        tasks += outcome.tasks;
        results_read += outcome.results_read;
        if (outcome.history.contains("turn_local_compaction_applied")) ++compacted;
        if (outcome.history.contains(R"("summary":"accepted")")) ++summarised;
    }
    // The stories must have tasks in them, turns that wait for one, and compactions, some of them
    // with a summary of the model's.
    EXPECT_GT(tasks, 20);
    EXPECT_GT(results_read, 0);
    EXPECT_GT(compacted, 3);
    EXPECT_GT(summarised, 0);
}

TEST(Simulation, OneSeedReplaysToTheByte) {
    const sim::Setup setup{
        .seed = 7, .plans = {{sim::Fault::CrashAfterCommit, 9}, {sim::Fault::PowerLoss, 5}}};
    EXPECT_EQ(sim::simulate(setup).history, sim::simulate(setup).history);
}

TEST_P(SimulationPart, ACrashAtAnyCommitLosesNothingAndRepeatsNothing) {
    for (const std::uint64_t seed : {3ULL, 5ULL, 8ULL}) {
        const std::int64_t commits = sim::simulate({.seed = seed}).commits;
        const std::int64_t stride = seed == 3 ? 1 : 4;  // One seed in full, the others sampled.
        for (std::int64_t at = 1; at <= commits; at += stride) {
            if (at / stride % kParts != GetParam()) continue;
            // The faults take turns, since a life with tasks has many commits.
            const auto fault = kFaults[static_cast<std::size_t>(at / stride) % std::size(kFaults)];
            for (const auto each : {sim::Fault::CrashAfterCommit, fault}) {
                const auto outcome = sim::simulate({.seed = seed, .plans = {{each, at}}});
                ASSERT_TRUE(outcome.violations.empty())
                    << "seed " << seed << ", fault " << static_cast<int>(each) << " at commit "
                    << at << joined(outcome.violations);
            }
        }
    }
}

// A result that could not be committed wakes no agent, but another task's result did, in the same
// process, and the command of the resumed call had been forgotten just before.
TEST(Simulation, ACommandWhoseResultCouldNotBeCommittedIsReattachedAndNotRunAgain) {
    const auto outcome = sim::simulate({.seed = 5, .plans = {{sim::Fault::CommitFails, 93}}});
    EXPECT_TRUE(outcome.violations.empty()) << joined(outcome.violations);
}

TEST_P(SimulationPart, ManyCrashesInARowLoseNothing) {
    const std::uint64_t end = first_seed() + seeds();
    for (auto seed = first_seed() + static_cast<std::uint64_t>(GetParam()); seed < end;
         seed += kParts) {
        std::mt19937_64 random(seed);
        sim::Setup setup{.seed = seed};
        for (std::uint64_t crash = 0; crash < 1 + random() % 6; ++crash)
            setup.plans.push_back(
                {kFaults[random() % 4], static_cast<std::int64_t>(1 + random() % 25)});
        const auto outcome = sim::simulate(setup);
        ASSERT_TRUE(outcome.violations.empty()) << "seed " << seed << joined(outcome.violations);
    }
}
