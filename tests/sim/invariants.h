// What must hold when all agents sleep, whatever happened on the way.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "tests/sim/simulation.h"

namespace sim {

std::vector<domain::AgentId> agents();

void check_invariants(store::Store& store, const World& world,
                      const std::set<std::string>& acknowledged, Outcome& outcome);

}  // namespace sim
