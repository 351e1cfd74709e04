// Which round answers a request, and with what. Pure.
#pragma once

#include <chrono>
#include <cstddef>

#include "provider/scripted/scenario.h"

namespace provider {

struct Played {
    Outcome outcome;
    std::chrono::milliseconds delay{0};
    bool was_fault{false};
    friend bool operator==(const Played&, const Played&) = default;
};

// The place in the scenario that `request` asks for: one round for each AssistantTurn it already
// holds, so the same request gets the same answer after a restart. May be past the end. The rounds
// of scenes are counted on behind those of the scenario.
std::size_t round_index(const Scenario& scenario, const Request& request);

// What `request` is answered with when this round's fault was given `faults_given` times before.
Played play(const Scenario& scenario, const Request& request, std::int64_t faults_given);

}  // namespace provider
