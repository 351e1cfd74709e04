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

// An agent whose budget is spent, and how much of it.
struct Spender {
    domain::AgentId agent_id;
    std::optional<domain::Delegation> delegation{};  // What it was given, if it is a child.
    // By the agent itself and by everything below it.
    std::int64_t tokens{0};
    std::int64_t model_rounds{0};
    std::int64_t turn_ms{0};
    friend bool operator==(const Spender&, const Spender&) = default;
};
Spender spender_of(const domain::Agent& agent, const domain::AgentStatistics& statistics);

// The tokens that the given budgets still allow; nothing when no one has such a budget. Pure.
std::optional<std::int64_t> delegated_tokens_left(const std::vector<Spender>& spenders);

// A child and those above it, up to one that is nobody's child: each pays for what the child does.
// Only the agent itself for others. At most kDepthChecked of them.
inline constexpr std::size_t kDepthChecked = 16;
base::Result<std::vector<Spender>> load_spenders(store::Tx& tx, const domain::Agent& agent,
                                                 const domain::AgentStatistics& statistics);

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
    std::vector<Spender> spenders{};  // The agent, and of a child those above it; see there.
    domain::WorkingMemory memory{};
};

// Since when work that has not changed must not wake the agent: it asked to sleep until a time, or
// its last turn did not complete. Empty: any runnable item may. Pure.
std::optional<base::Time> work_held_since(const domain::Agent& agent,
                                          const domain::AgentStatistics& statistics);

// NotFound, with a hint, when there is no such agent.
base::Result<AgentFacts> load_facts(store::Tx& tx, const domain::AgentId& id);

}  // namespace identity
