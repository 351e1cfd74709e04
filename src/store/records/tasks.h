// Tasks: work that outlives its turn.
#pragma once

#include "domain/waiting.h"
#include "store/records/types.h"

namespace store {

class TaskRecords {
public:
    virtual ~TaskRecords() = default;

    virtual Status put_task(const domain::Task& task) = 0;  // Inserts or replaces.
    virtual Result<std::optional<domain::Task>> task(const domain::TaskId& id) = 0;
    // Queued, running and cancelling ones.
    virtual Result<std::vector<domain::Task>> active_tasks(const AgentId& agent) = 0;
    // All tasks of the agent, newest first.
    virtual Result<std::vector<domain::Task>> tasks(const AgentId& agent, std::int64_t limit) = 0;
    virtual Result<std::vector<AgentId>> agents_with_active_tasks(std::int64_t limit) = 0;
};

}  // namespace store
