// Crashes everywhere in the life of named agents.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/sim/lifecycle.h"

namespace {

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += "\n  " + line;
    return text;
}

// How many random seeds to run; `make sim SEEDS=…` sets more.
std::uint64_t seeds() {
    const char* text = std::getenv("HOLON_SIM_SEEDS");
    return text ? std::strtoull(text, nullptr, 10) : 5;
}
// The first of them; tests/torture/seeds.py runs them in batches.
std::uint64_t first_seed() {
    const char* text = std::getenv("HOLON_SIM_FIRST_SEED");
    return text ? std::strtoull(text, nullptr, 10) : 1;
}

// Every commit is crashed at when more seeds are asked for; otherwise a sample of this many.
std::int64_t stride(std::int64_t commits) {
    constexpr std::int64_t kSampled = 5;
    return std::getenv("HOLON_SIM_SEEDS") ? 1 : std::max<std::int64_t>(1, commits / kSampled);
}

constexpr sim::Fault kFaults[] = {sim::Fault::CrashBeforeCommit, sim::Fault::CrashAfterCommit,
                                  sim::Fault::PowerLoss, sim::Fault::CommitFails};

}  // namespace

// The tests run in parts, each a test of its own, so that CTest can spread them over shards.
constexpr int kParts = 4;
class LifecyclePart : public testing::TestWithParam<int> {
protected:
    // The seeds of this part.
    static std::vector<std::uint64_t> own_seeds() {
        std::vector<std::uint64_t> list;
        const std::uint64_t end = first_seed() + seeds();
        for (auto seed = first_seed() + static_cast<std::uint64_t>(GetParam()); seed < end;
             seed += kParts)
            list.push_back(seed);
        return list;
    }
};
INSTANTIATE_TEST_SUITE_P(Of4, LifecyclePart, testing::Range(0, kParts));

TEST_P(LifecyclePart, RunsWithoutFaultsHoldEveryInvariant) {
    for (const std::uint64_t seed : own_seeds()) {
        const auto outcome = sim::simulate_lifecycle({.seed = seed});
        ASSERT_TRUE(outcome.violations.empty()) << "seed " << seed << joined(outcome.violations);
    }
}

// What is simulated really happens: an invariant over nothing would hold, too.
TEST(LifecycleSimulation, TheRunsCoverWhatTheyTest) {
    std::string history;
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
        history += sim::simulate_lifecycle({.seed = seed}).history;
    for (const auto* part :
         {"\"operator_interjection_admitted\"", "\"wake_hint_coalesced\"",
          "\"wake_hint_triggered\"", "\"timer_fired\"", "\"aborted_by_operator\"",
          "\"message_processing_aborted\"", "\"wait_condition_resolved\"", "\"turn_parked\"",
          "\"stopped\"", "\"paused\"", "\"awaiting_task\"", "\"operator_delivery_completed\"",
          "\"no answer (simulated)\""})
        EXPECT_NE(history.find(part), std::string::npos) << part;
}

TEST(LifecycleSimulation, OneSeedReplaysToTheByte) {
    const sim::Setup setup{
        .seed = 7, .plans = {{sim::Fault::CrashAfterCommit, 19}, {sim::Fault::PowerLoss, 15}}};
    EXPECT_EQ(sim::simulate_lifecycle(setup).history, sim::simulate_lifecycle(setup).history);
}

// A part for each fault.
TEST_P(LifecyclePart, ACrashAtAnyCommitLosesNothingAndRepeatsNothing) {
    static_assert(kParts == std::size(kFaults));
    const auto fault = kFaults[static_cast<std::size_t>(GetParam())];
    const std::int64_t commits = sim::simulate_lifecycle({.seed = 3}).commits;
    for (std::int64_t at = 1 + GetParam(); at <= commits; at += stride(commits)) {
        const auto outcome = sim::simulate_lifecycle({.seed = 3, .plans = {{fault, at}}});
        ASSERT_TRUE(outcome.violations.empty())
            << "fault " << static_cast<int>(fault) << " at commit " << at
            << joined(outcome.violations);
    }
}

TEST_P(LifecyclePart, ManyCrashesInARowLoseNothing) {
    for (const std::uint64_t seed : own_seeds()) {
        std::mt19937_64 random(seed);
        sim::Setup setup{.seed = seed};
        for (std::uint64_t crash = 0; crash < 1 + random() % 6; ++crash)
            setup.plans.push_back(
                {kFaults[random() % 4], static_cast<std::int64_t>(1 + random() % 60)});
        const auto outcome = sim::simulate_lifecycle(setup);
        ASSERT_TRUE(outcome.violations.empty()) << "seed " << seed << joined(outcome.violations);
    }
}
