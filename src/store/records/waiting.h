// What an agent waits for and what wakes it: waits, timers, triggers and hints.
#pragma once

#include "domain/trigger.h"
#include "domain/waiting.h"
#include "store/records/types.h"

namespace store {

class WaitRecords {
public:
    virtual ~WaitRecords() = default;

    virtual Status put_wait(const domain::Wait& wait) = 0;  // Inserts or replaces.
    virtual Result<std::optional<domain::Wait>> wait(const domain::WaitId& id) = 0;
    // Active and triggered ones.
    virtual Result<std::vector<domain::Wait>> open_waits(const AgentId& agent) = 0;

    virtual Status put_timer(const domain::Timer& timer) = 0;  // Inserts or replaces.
    virtual Result<std::optional<domain::Timer>> timer(const domain::TimerId& id) = 0;
    virtual Result<std::vector<domain::Timer>> active_timers(const AgentId& agent,
                                                             std::int64_t limit) = 0;
    virtual Result<std::int64_t> active_timer_count(const AgentId& agent) = 0;
    // All timers of the agent, newest first.
    virtual Result<std::vector<domain::Timer>> timers(const AgentId& agent, std::int64_t limit) = 0;
    // Active timers of all agents whose next_fire_at is not after `now`, earliest first.
    virtual Result<std::vector<domain::Timer>> due_timers(base::Time now, std::int64_t limit) = 0;
    // When the next timer of any agent fires; empty when there is none.
    virtual Result<std::optional<base::Time>> next_due() = 0;
};

class WakeRecords {
public:
    virtual ~WakeRecords() = default;

    // Inserts or replaces. Conflict when the agent already has another active trigger.
    virtual Status put_trigger(const domain::ExternalTrigger& trigger) = 0;
    virtual Result<std::optional<domain::ExternalTrigger>> trigger_by_token(
        const std::string& token_hash) = 0;
    virtual Result<std::optional<domain::ExternalTrigger>> active_trigger(const AgentId& agent) = 0;
    // All triggers of the agent, newest first.
    virtual Result<std::vector<domain::ExternalTrigger>> triggers(const AgentId& agent,
                                                                  std::int64_t limit) = 0;
    // The one hint that waits for the agent to be free. put replaces it.
    virtual Status put_wake_hint(const domain::WakeHint& hint) = 0;
    virtual Result<std::optional<domain::WakeHint>> wake_hint(const AgentId& agent) = 0;
    virtual Status erase_wake_hint(const AgentId& agent) = 0;  // No hint: no error.
    // Agents with a hint, by id, after `after`.
    virtual Result<std::vector<AgentId>> agents_with_wake_hint(const AgentId& after,
                                                               std::int64_t limit) = 0;
};

}  // namespace store
