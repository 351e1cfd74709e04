#include "flow/admission/rejoin.h"

#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"
#include "flow/queue/waits.h"

namespace admission {
namespace {

// That of the message which led to this one: all of one workflow share it.
base::Result<std::optional<std::string>> correlation_of(
    store::Tx& tx, const std::optional<std::string>& causation_id) {
    if (!causation_id) return std::nullopt;
    const auto cause = TRY(tx.message({*causation_id}));
    return cause ? cause->message.correlation_id : std::nullopt;
}

}  // namespace

base::Status rejoin(events::Log& log, domain::Message message) {
    ingress::Raw raw{.agent_id = message.agent_id,
                     .kind = message.kind,
                     .origin = message.origin,
                     .body = std::move(message.body),
                     .surface = domain::DeliverySurface::TaskRejoin,
                     .admission = domain::AdmissionContext::RuntimeOwned,
                     .priority = message.priority,
                     .metadata = std::move(message.metadata),
                     .correlation_id = std::move(message.correlation_id),
                     .causation_id = std::move(message.causation_id)};
    if (!raw.correlation_id) raw.correlation_id = TRY(correlation_of(log.tx(), raw.causation_id));
    std::optional<std::string> key;
    if (message.task_id) key = queue::task_result_key(*message.task_id);
    auto received = TRY(ingress::receive(std::move(raw), log.now(), log.ids()));
    received.id = message.id;
    const auto outcome = TRY(admit(log, received, key));
    if (const auto* refused = std::get_if<Refuse>(&outcome))
        return base::fail(base::ErrorCode::Refused, "{}; {}", refused->reason, refused->hint);
    return {};
}

}  // namespace admission
