#include "flow/admission/follow_up.h"

#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"

namespace admission {

base::Status append_follow_up(events::Log& log, const domain::Message& cause,
                              FollowUpText follow_up) {
    ingress::Raw raw{.agent_id = cause.agent_id,
                     .kind = domain::MessageKind::InternalFollowup,
                     .origin = domain::SystemOrigin{"tool_enqueue"},
                     .body = domain::TextBody{std::move(follow_up.text)},
                     .surface = domain::DeliverySurface::RuntimeSystem,
                     .admission = domain::AdmissionContext::RuntimeOwned,
                     .priority = follow_up.priority,
                     .trust = follow_up.trust,
                     .correlation_id = cause.correlation_id,
                     .causation_id = cause.id.value};
    const auto message = TRY(ingress::receive(std::move(raw), log.now(), log.ids()));
    TRY(admit(log, message, std::nullopt));
    return {};
}

}  // namespace admission
