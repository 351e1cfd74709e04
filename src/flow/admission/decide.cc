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
    const bool is_external = domain::external_sender(message).has_value();
    if (is_external && facts.pending_of_sender >= kSenderPendingMax)
        return Refuse{"queue_full",
                      fmt::format("agent {} already has {} messages of this sender waiting", id,
                                  facts.pending_of_sender),
                      "wait until it has worked some of them off"};
    const std::int64_t pending_max = is_external ? kExternalPendingMax : kPendingMax;
    if (facts.pending >= pending_max && !from_runtime)
        return Refuse{"queue_full",
                      fmt::format("agent {} already has {} messages waiting", id, facts.pending),
                      "wait until it has worked some of them off"};
    return Accept{};
}

}  // namespace admission
