// What operators do with the work items of agents. The operations are those that service.h
// promises; none of them makes a message.
#pragma once

#include "agent/work/views.h"
#include "flow/scheduler/scheduler.h"
#include "flow/turn/runner.h"
#include "service/local/agents/transactions.h"
#include "service/service.h"

namespace service {

// More open work items than this an operator cannot give to one agent.
inline constexpr std::int64_t kOpenWorkItemsMax = 10'000;

// The references are the service's and outlive this. Any thread may call.
class LocalWork {
public:
    struct Parts {
        Transactions& transactions;
        const turn::Parts& turn;          // Ids, and where agents live.
        scheduler::Scheduler& scheduler;  // Used on the loop only.
    };
    explicit LocalWork(Parts parts) : parts_(parts) {}

    base::Result<WorkItemsPage> page(const std::string& agent, const WorkItemsQuery& query) const;
    base::Result<json::object> show(const std::string& agent, const std::string& id) const;
    base::Result<domain::WorkItem> create(const std::string& agent, const WorkItemRequest& request,
                                          const Caller& caller);
    base::Result<json::object> change(const std::string& agent, const std::string& id,
                                      const WorkItemChange& change, const Caller& caller);

private:
    json::object view(work::ViewFacts facts) const;
    // What was committed may be due at once.
    void wake(const std::string& agent);

    Parts parts_;
};

}  // namespace service
