// What an agent waits for and what wakes it: waits, timers, triggers and hints.
#pragma once

#include "domain/trigger.h"
#include "domain/waiting.h"
#include "store/records/types.h"

namespace store {

// A due timer whose record cannot be read.
struct BrokenTimer {
    domain::TimerId id;
    AgentId agent_id;
    std::string error;
};
// Each due timer is in one of the two.
struct DueTimers {
    std::vector<domain::Timer> timers;
    std::vector<BrokenTimer> broken;
};

class WaitRecords {
public:
    virtual ~WaitRecords() = default;

    // Inserts or replaces, by id; its place among the agent's waits stays that of the first put.
    // Which agent and which work item a wait is for never changes.
    virtual Status put_wait(const domain::Wait& wait) = 0;
    // In any status.
    virtual Result<std::optional<domain::Wait>> wait(const domain::WaitId& id) = 0;
    // Active and triggered ones, oldest first.
    virtual Result<std::vector<domain::Wait>> open_waits(const AgentId& agent) = 0;
    // The same of one work item.
    virtual Result<std::vector<domain::Wait>> open_waits_of(const domain::WorkItemId& item) = 0;

    // Inserts or replaces, by id; its place among the agent's timers stays that of the first put.
    // Whose timer it is never changes.
    virtual Status put_timer(const domain::Timer& timer) = 0;
    // In any status.
    virtual Result<std::optional<domain::Timer>> timer(const domain::TimerId& id) = 0;
    // Oldest first, whenever they fire. A shelved one is not among them.
    virtual Result<std::vector<domain::Timer>> active_timers(const AgentId& agent,
                                                             std::int64_t limit) = 0;
    // How many active_timers() would list without a limit.
    virtual Result<std::int64_t> active_timer_count(const AgentId& agent) = 0;
    // All timers of the agent, newest first; those before `before` unless it is empty.
    // cursor_not_found (NotFound) when the agent has no timer of this id.
    virtual Result<std::vector<domain::Timer>> timers(const AgentId& agent, std::int64_t limit,
                                                      const domain::TimerId& before) = 0;
    // Active timers of all agents that are not set aside, whose next_fire_at is not after `now`,
    // earliest first, at most `limit` rows. One that cannot be read does not hide the others.
    virtual Result<DueTimers> due_timers(base::Time now, std::int64_t limit) = 0;
    // Takes a timer that cannot be read out of the lists of active and due ones. Its bytes stay as
    // they are, for a repair. An unknown timer is no error.
    virtual Status shelve_timer(const domain::TimerId& id) = 0;
    // When the next timer of any agent that is not set aside fires; empty when there is none.
    virtual Result<std::optional<base::Time>> next_due() = 0;
};

class WakeRecords {
public:
    virtual ~WakeRecords() = default;

    // Inserts or replaces, by id. Conflict when the agent already has another active trigger, or
    // another trigger has this token.
    virtual Status put_trigger(const domain::ExternalTrigger& trigger) = 0;
    // The trigger of the token with this hash, revoked or not: the caller checks its status.
    virtual Result<std::optional<domain::ExternalTrigger>> trigger_by_token(
        const std::string& token_hash) = 0;
    // The one that can wake the agent; empty when it has none or it was revoked.
    virtual Result<std::optional<domain::ExternalTrigger>> active_trigger(const AgentId& agent) = 0;
    // All triggers of the agent, revoked ones included, newest first.
    virtual Result<std::vector<domain::ExternalTrigger>> triggers(const AgentId& agent,
                                                                  std::int64_t limit) = 0;
    // Inserts or replaces, by id; its agent and name never change. Conflict when the agent has
    // another active webhook of this name, or another webhook has this token.
    virtual Status put_webhook(const domain::Webhook& webhook) = 0;
    // The webhook of the token with this hash, revoked or not: the caller checks its status.
    virtual Result<std::optional<domain::Webhook>> webhook_by_token(
        const std::string& token_hash) = 0;
    // All webhooks of the agent, revoked ones included, newest first.
    virtual Result<std::vector<domain::Webhook>> webhooks(const AgentId& agent,
                                                          std::int64_t limit) = 0;
    // The one hint that waits for the agent to be free. put replaces it; merging is the caller's.
    virtual Status put_wake_hint(const domain::WakeHint& hint) = 0;
    virtual Result<std::optional<domain::WakeHint>> wake_hint(const AgentId& agent) = 0;
    virtual Status erase_wake_hint(const AgentId& agent) = 0;  // No hint: no error.
    // Agents with a hint, by id, after `after`.
    virtual Result<std::vector<AgentId>> agents_with_wake_hint(const AgentId& after,
                                                               std::int64_t limit) = 0;
};

}  // namespace store
