#include "flow/admission/decide.h"

namespace admission {

Verdict decide(const Facts& facts, const domain::Message& message) {
    const bool from_runtime = message.admission_context == domain::AdmissionContext::RuntimeOwned;
    const auto& id = facts.agent.agent_id;
    if (facts.agent.stopped && message.kind != domain::MessageKind::Control && !from_runtime)
        return Refuse{"agent_stopped", fmt::format("agent {} is stopped", id),
                      fmt::format("resume it first: holon agent start {}", id)};
    if (facts.agent.identity.status == domain::IdentityStatus::Archived && !from_runtime)
        return Refuse{"agent_archived", fmt::format("agent {} is archived", id),
                      "send it to another agent"};
    if (facts.pending >= kPendingMax && !from_runtime)
        return Refuse{"queue_full",
                      fmt::format("agent {} already has {} messages waiting", id, facts.pending),
                      "wait until it has worked some of them off"};
    return Accept{};
}

}  // namespace admission
