#include "service/local/agents/transactions.h"

namespace service {

base::Result<domain::Agent> known_agent(store::Tx& tx, const domain::AgentId& id) {
    auto agent = TRY(tx.agent(id));
    if (!agent || agent->identity.status == domain::IdentityStatus::Archived)
        return base::fail(base::ErrorCode::NotFound,
                          "there is no agent '{}'; create it with: holon agent create {}", id, id);
    return std::move(*agent);
}

base::Status Transactions::write(const std::function<base::Status(events::Log&)>& work) {
    std::vector<events::Committed> committed;
    TRY(parts_.store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        events::Log log(tx, parts_.clock.now(), parts_.ids);
        TRY(work(log));
        committed = log.take();
        return {};
    }));
    post([&feed = parts_.feed, committed = std::move(committed)] { feed.publish(committed); });
    return {};
}

base::Status Transactions::read(const std::function<base::Status(store::Tx&)>& work) const {
    return parts_.store.read([&](store::Tx& tx) { return work(tx); });
}

void Transactions::post(base::Job job) {
    parts_.loop.post([alive = std::weak_ptr(alive_), job = std::move(job)]() mutable {
        if (alive.lock()) job();
    });
}

}  // namespace service
