// Work items: the objectives of agents, and the reports of those that are completed.
#pragma once

#include "domain/work.h"
#include "store/records/types.h"

namespace store {

// Which work items of an agent, most recently changed first.
struct WorkPage {
    std::optional<domain::WorkReadiness> readiness{};  // By the record alone; empty: all.
    bool open_only{false};                             // All but completed ones.
    // Only items behind this one in the order of the list: its updated_at and id.
    std::optional<base::Time> before_updated_at{};
    domain::WorkItemId before_id{};
    std::int64_t limit{20};
};

// How many work items an agent has, by what their records say.
struct WorkCounts {
    std::int64_t runnable{0};
    std::int64_t waiting_for_operator{0};
    std::int64_t blocked{0};
    std::int64_t completed{0};
    friend bool operator==(const WorkCounts&, const WorkCounts&) = default;
};

// Completed items cost nothing: every operation but work_counts() and a page of all items reads
// rows of open items only, through an index.
class WorkRecords {
public:
    virtual ~WorkRecords() = default;

    virtual Status put_work_item(const domain::WorkItem& item) = 0;  // Inserts or replaces.
    virtual Result<std::optional<domain::WorkItem>> work_item(const domain::WorkItemId& id) = 0;
    virtual Result<std::vector<domain::WorkItem>> work_items(const AgentId& agent,
                                                             const WorkPage& page) = 0;
    // Runnable items of the agent that were changed after `changed_after`, least recently changed
    // first.
    virtual Result<std::vector<domain::WorkItem>> runnable_work(const AgentId& agent,
                                                                base::Time changed_after,
                                                                std::int64_t limit) = 0;
    // Blocked items whose recheck_at is not after `now` and was not consumed since, earliest first.
    virtual Result<std::vector<domain::WorkItem>> due_rechecks(const AgentId& agent, base::Time now,
                                                               std::int64_t limit) = 0;
    virtual Result<WorkCounts> work_counts(const AgentId& agent) = 0;
    // A number that every put_work_item() for the agent raises; 0 before the first.
    virtual Result<std::int64_t> work_version(const AgentId& agent) = 0;
    // Agents with a runnable item, by id, after `after`.
    virtual Result<std::vector<AgentId>> agents_with_runnable_work(const AgentId& after,
                                                                   std::int64_t limit) = 0;

    // Appends; the same id again is a Conflict.
    virtual Status append_delivery_summary(const domain::DeliverySummary& summary) = 0;
    // The newest summary of the item that has text.
    virtual Result<std::optional<domain::DeliverySummary>> delivery_summary(
        const domain::WorkItemId& item) = 0;
};

}  // namespace store
