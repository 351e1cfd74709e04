// Everything that views of an agent are computed from, read in one transaction.
#pragma once

#include <optional>
#include <vector>

#include "domain/agent.h"
#include "domain/memory.h"
#include "domain/waiting.h"
#include "store/store.h"

namespace identity {

// An agent may have thousands of timers; views and rules need to know of some.
inline constexpr std::int64_t kTimersShown = 64;

struct AgentFacts {
    domain::Agent agent;
    domain::AgentStatistics statistics{};
    std::optional<domain::AgentFault> fault{};
    std::optional<domain::Attempt> open_attempt{};
    std::int64_t pending{0};
    std::vector<domain::Task> active_tasks{};
    std::vector<domain::Wait> open_waits{};
    std::vector<domain::Timer> active_timers{};           // The oldest kTimersShown of them.
    std::optional<domain::WorkItem> current_work_item{};  // Its focus.
    // The runnable item that was changed least recently, without the focus. When work is held back
    // (see work_held_since), only one that was changed since.
    std::optional<domain::WorkItem> queued_work_item{};
    std::optional<domain::WakeHint> pending_wake_hint{};
    std::optional<domain::ExternalTrigger> active_trigger{};
    domain::WorkingMemory memory{};
};

// Since when work that has not changed must not wake the agent: it asked to sleep until a time, or
// its last turn did not complete. Empty: any runnable item may. Pure.
std::optional<base::Time> work_held_since(const domain::Agent& agent,
                                          const domain::AgentStatistics& statistics);

// NotFound, with a hint, when there is no such agent.
base::Result<AgentFacts> load_facts(store::Tx& tx, const domain::AgentId& id);

}  // namespace identity
