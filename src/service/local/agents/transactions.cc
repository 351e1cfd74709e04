#include "service/local/agents/transactions.h"

namespace service {

namespace {

std::unexpected<base::Error> no_agent(const domain::AgentId& id) {
    return base::fail(base::ErrorCode::NotFound,
                      "there is no agent '{}'; create it with: holon agent create {}", id, id);
}

}  // namespace

base::Result<domain::Agent> known_agent(store::Tx& tx, const domain::AgentId& id) {
    auto agent = TRY(tx.agent(id));
    if (!agent) return no_agent(id);
    if (agent->identity.status == domain::IdentityStatus::Archived)
        return base::fail(base::ErrorCode::NotFound,
                          "agent '{}' has ended; what it did is kept: holon transcript --agent {}",
                          id, id);
    return std::move(*agent);
}

base::Status kept_agent(store::Tx& tx, const domain::AgentId& id) {
    if (!TRY(tx.agent(id))) return no_agent(id);
    return {};
}

base::Status Transactions::write(const std::function<base::Status(events::Log&)>& work) {
    auto written = committer_.write_now(lifetime_.watch(), work);
    if (!written && events::is_passing_fault(written.error()) && on_fault)
        on_fault(written.error());
    return written;
}

base::Status Transactions::read(const std::function<base::Status(store::Tx&)>& work) const {
    return parts_.store.read([&](store::Tx& tx) { return work(tx); });
}

void Transactions::post(base::Job job) {
    parts_.loop.post([watch = lifetime_.watch(), job = std::move(job)]() mutable {
        if (!watch.expired()) job();
    });
}

}  // namespace service
