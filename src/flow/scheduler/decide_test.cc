#include "flow/scheduler/decide.h"

#include <gtest/gtest.h>

#include "flow/turn/decide/decide.h"

namespace scheduler {
namespace {

identity::AgentFacts ready() {
    return {.agent = {.agent_id = {"main"}}, .pending = 1};
}

TEST(Choose, TakesTheNextMessageWhenThereIsOne) {
    EXPECT_EQ(choose(ready(), {}), Choice(TakeNext{turn::kRoundsMax}));
}

TEST(Choose, RestsForEachReasonThereIs) {
    auto stopped = ready();
    stopped.agent.stopped = true;
    EXPECT_EQ(choose(stopped, {}), Choice(Idle{"the agent is stopped"}));
    auto paused = ready();
    paused.agent.paused = true;
    EXPECT_EQ(choose(paused, {}), Choice(Idle{"the agent is paused"}));
    auto busy = ready();
    busy.open_attempt.emplace();
    EXPECT_EQ(choose(busy, {}), Choice(Idle{"a turn is open"}));
    auto idle = ready();
    idle.pending = 0;
    EXPECT_EQ(choose(idle, {}), Choice(Idle{std::string(kNothingQueued)}));
}

TEST(Choose, TheRoundBudgetBindsOverAllTurns) {
    EXPECT_EQ(choose(ready(), {.rounds_total = 5, .rounds_used = 2}), Choice(TakeNext{3}));
    EXPECT_EQ(choose(ready(), {.rounds_total = 5, .rounds_used = 5}),
              Choice(Idle{std::string(kBudgetSpent)}));
    EXPECT_EQ(choose(ready(), {.rounds_total = 100'000}), Choice(TakeNext{turn::kRoundsMax}));
}

}  // namespace
}  // namespace scheduler
