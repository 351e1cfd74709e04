// Agents that delegate, on made-up time: random trees of children, and a crash at any commit of
// them.
#pragma once

#include "config/agents/children.h"
#include "tests/sim/simulation.h"

namespace sim {

// What agents of the simulator may delegate.
inline constexpr config::Children kChildren{.max_depth = 3,
                                            .max_alive = 3,
                                            .max_tree_alive = 6,
                                            .max_tree_tokens = 150,
                                            .max_tree_wall_ms = 100'000'000};

// One agent gets prompts; in each it delegates to children, which delegate in turn, as the seed
// says. Some children sleep for a while, are stopped by their parent or use up their budget.
// Invariants at the end: every child is archived with nothing open, queued or waited for; the task
// of each has ended; each end has reached the parent as one message; what children spent is what
// those above them paid; no more were alive at once than allowed; no tree has used more than its
// budget and one round for each of its agents.
Outcome simulate_children(const Setup& setup);

}  // namespace sim
