// What the runtime itself says to an agent about its work: continue, or check a blocker.
//
// Both are system ticks: messages of the runtime, never of an external sender. An item whose text
// is weaker than the runtime's own word keeps that label in its tick.
#pragma once

#include "agent/identity/facts.h"
#include "record/events/events.h"

namespace work_items {

// How many rechecks one tick names. The others are due at once and get the next tick.
inline constexpr std::int64_t kRechecksPerTick = 32;

// Queues the tick that has the agent continue its work, by what the closure of `facts` says; false
// when there is none to continue. The caller has checked that the agent is free.
base::Result<bool> emit_tick(events::Log& log, const identity::AgentFacts& facts);

// Is it such a tick?
bool is_work_tick(const domain::Message& message);

// The timer of the item's reminder is what its record says: active, moved or cancelled.
base::Status follow_recheck(events::Log& log, const domain::WorkItem& item);

// `timer` reminds of a blocked item and is due. All reminders of the agent that are due become one
// tick of low priority, and are consumed with it. The item stays blocked.
base::Status fire_recheck(events::Log& log, domain::Timer timer);

}  // namespace work_items
