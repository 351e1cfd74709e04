// Agents: identity and control, their statistics, and the workspaces and worktrees this host knows.
#pragma once

#include "domain/agent.h"
#include "store/records/types.h"

namespace store {

// Totals over all agents, for status pages.
struct Counts {
    std::int64_t listed_agents{0};
    std::int64_t open_attempts{0};
    std::int64_t active_tasks{0};
    std::int64_t waiting_agents{0};   // With an open wait.
    std::int64_t queued_messages{0};  // That no turn has claimed.
    friend bool operator==(const Counts&, const Counts&) = default;
};

class AgentRecords {
public:
    virtual ~AgentRecords() = default;

    // Empty when there is no such agent.
    virtual Result<std::optional<domain::Agent>> agent(const AgentId& id) = 0;
    // All agents, by id, after `after`.
    virtual Result<std::vector<AgentId>> agents(const AgentId& after, std::int64_t limit) = 0;
    // Public agents that are not archived, by id, after `after`.
    virtual Result<std::vector<AgentId>> listed_agents(const AgentId& after,
                                                       std::int64_t limit) = 0;
    virtual Result<Counts> counts() = 0;
    // Inserts or replaces the facts of one agent.
    virtual Status put_agent(const domain::Agent& agent) = 0;
    // What the agent's turns have added up to. All zero and empty, with its id, when nothing was
    // put for it yet and when there is no such agent.
    virtual Result<domain::AgentStatistics> statistics(const AgentId& agent) = 0;
    // Inserts or replaces the statistics of one agent.
    virtual Status put_statistics(const domain::AgentStatistics& statistics) = 0;
    // The fault that is recorded for the agent, set aside or not. Needs no other record of it.
    virtual Result<std::optional<domain::AgentFault>> fault(const AgentId& agent) = 0;
    // Inserts or replaces the fault of one agent. The agent's own record need not be readable.
    virtual Status put_fault(const domain::AgentFault& fault) = 0;
    virtual Status erase_fault(const AgentId& agent) = 0;  // No fault: no error.
    // The agents that are set aside, by id.
    virtual Result<std::vector<AgentId>> agents_set_aside(std::int64_t limit) = 0;
    // A write of one row that means nothing, to see whether writes succeed.
    virtual Status probe_write(base::Time now) = 0;
    // Removes the agent and every row that belongs to it. An unknown agent is no error.
    virtual Status erase_agent(const AgentId& id) = 0;
};

class WorkspaceRecords {
public:
    virtual ~WorkspaceRecords() = default;

    // Inserts or replaces, by the workspace's id.
    virtual Status put_workspace(const domain::WorkspaceEntry& entry) = 0;
    virtual Result<std::optional<domain::WorkspaceEntry>> workspace(const std::string& id) = 0;
    // Inserts or replaces, by the path of the worktree.
    virtual Status put_worktree(const domain::ManagedWorktree& worktree) = 0;
    virtual Result<std::optional<domain::ManagedWorktree>> worktree(const std::string& path) = 0;
    // The agent's worktrees, newest first.
    virtual Result<std::vector<domain::ManagedWorktree>> worktrees(const AgentId& agent,
                                                                   std::int64_t limit) = 0;
};

}  // namespace store
