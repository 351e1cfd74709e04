// Tasks: work that outlives its turn.
#pragma once

#include "domain/waiting.h"
#include "store/records/types.h"

namespace store {

class TaskRecords {
public:
    virtual ~TaskRecords() = default;

    // Inserts or replaces, by id; its place among the agent's tasks stays that of the first put.
    // Whose task it is never changes.
    virtual Status put_task(const domain::Task& task) = 0;
    // In any status.
    virtual Result<std::optional<domain::Task>> task(const domain::TaskId& id) = 0;
    // Queued, running and cancelling ones, oldest first. An interrupted one is not among them.
    virtual Result<std::vector<domain::Task>> active_tasks(const AgentId& agent) = 0;
    // All tasks of the agent, newest first.
    virtual Result<std::vector<domain::Task>> tasks(const AgentId& agent, std::int64_t limit) = 0;
    // Agents for which active_tasks() is not empty, by id.
    virtual Result<std::vector<AgentId>> agents_with_active_tasks(std::int64_t limit) = 0;
};

}  // namespace store
