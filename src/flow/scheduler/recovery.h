// One fault harms one agent: it is set aside, visibly, until its operator has it recovered.
#pragma once

#include <optional>
#include <string>

#include "agent/identity/facts.h"
#include "record/events/events.h"

namespace scheduler {

// Deaths of the program outside of a turn after which the agent is set aside, and how long one is
// remembered. A kill by another program looks like the agent's own fault, so there are as many as
// for a turn, and the next turn that opens forgets them.
inline constexpr std::int64_t kCrashesMax = 20;
inline constexpr std::chrono::hours kCrashMemory{1};

// Whose fault is it that a step for an agent failed? Pure.
enum class FaultOf {
    World,   // The disk or another process was in the way: the same step may succeed later.
    Agent,   // Its records cannot be read or contradict each other, or the program has a bug.
    Message  // The message itself: another one may succeed.
};
FaultOf fault_of(const base::Error& error);

// What can still be read of an agent whose records may be damaged.
struct Readable {
    std::optional<domain::Agent> agent{};
    std::optional<domain::AgentStatistics> statistics{};
    std::optional<domain::AgentStatus> status{};  // When everything can be read.
    std::int64_t pending{0};
};
// Loads each part by itself. Blocks: not on the loop.
Readable load_readable(store::Store& store, const domain::AgentId& agent);

// Sets the agent aside, with an event and a brief that asks for its operator, in the caller's
// transaction. Touches nothing of the agent that could not be read.
base::Status set_aside(events::Log& log, const Readable& known, domain::AgentFault fault);

// A process died while it executed a step of the agent: counted for its open turn, or else for the
// agent, which is set aside after kCrashesMax of them. An unknown agent is no error.
base::Status count_crash(events::Log& log, const domain::AgentId& agent, const Readable& known);

// Drops the message that an agent which is set aside was at, or the next one of its queue, in the
// caller's transaction; its open turn is closed with it. The message stays on record as dropped,
// with an event and a brief. Conflict when the agent is not set aside, and when there is none.
base::Status drop_message(events::Log& log, const domain::AgentId& agent);

}  // namespace scheduler
