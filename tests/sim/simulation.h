// The real runtime on made-up time, over a disk and a world that survive its crashes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/sim/faulty_store.h"
#include "tests/sim/world.h"

namespace sim {

struct Setup {
    std::uint64_t seed{1};
    // One for each process in turn; after the last plan the runtime runs to its end without faults.
    std::vector<FaultPlan> plans{};
};

struct Outcome {
    std::vector<std::string> violations;  // Empty when every invariant held.
    std::int64_t commits{0};              // Of the last process.
    std::int64_t tasks{0};                // That there were, of both agents.
    std::int64_t results_read{0};         // Of them, those that a turn read before their message.
    int processes{0};                     // How many it took.
    std::string history;                  // The events of all agents: equal runs have equal bytes.
};

// Two agents get prompts from clients that send again, with the same dedupe key, what was not
// acknowledged. Runs until both sleep, restarting after each crash, then checks the invariants: no
// admitted message lost, none processed twice, no command run twice, every call with its result,
// every task ended and its result delivered once, no open attempt or pending effect left, event_seq
// without gaps, prompts paired and unchanged.
Outcome simulate(const Setup& setup);

}  // namespace sim
