// Is the agent's work finished, and if not, what would resume it? Pure, from owned facts.
#pragma once

#include "agent/identity/facts.h"
#include "domain/turn.h"

namespace identity {

// The first rule that applies decides; each leaves its evidence. Waits and timers name what would
// resume the agent; only an observed terminal turn counts as completion.
domain::ClosureDecision decide_closure(const AgentFacts& facts);

// What the agent continues with by itself when it is free: its focus, else the next queued item.
std::optional<domain::WorkSignal> work_signal(const AgentFacts& facts);

// Does it wait for a task's result before anything else? A wait of one work item does not keep it
// from the others.
bool is_blocked_by_task(const AgentFacts& facts);

// Does a fault keep it from running, until its operator has it recovered?
bool is_set_aside(const AgentFacts& facts);

// The label people read. Code never branches on it.
domain::AgentStatus status_of(const AgentFacts& facts);

}  // namespace identity
