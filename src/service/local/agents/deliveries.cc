#include "service/local/agents/deliveries.h"

#include "base/hash.h"
#include "base/text.h"
#include "domain/events/waiting.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"
#include "flow/scheduler/hints.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kWakeReasonCharsMax = 500;
constexpr std::size_t kProvenanceCharsMax = 200;

std::unexpected<base::Error> refused(const admission::Refuse& refuse,
                                     const domain::AgentId& agent) {
    const bool is_gone = refuse.code == "agent_archived";
    return std::unexpected(
        base::Error{.code = is_gone ? ErrorCode::NotFound : ErrorCode::Conflict,
                    .message = refuse.reason + "; " + refuse.hint,
                    .kind = refuse.code,
                    .details = {{"agent_id", agent.value}, {"hint", refuse.hint}}});
}

// The boundary of a stopped agent, for what is no message.
base::Status check_receives(const domain::Agent& agent) {
    const domain::Message hint{.agent_id = agent.agent_id,
                               .kind = domain::MessageKind::SystemTick,
                               .admission_context = domain::AdmissionContext::LocalProcess};
    const auto verdict = admission::decide({.agent = agent}, hint);
    if (const auto* refuse = std::get_if<admission::Refuse>(&verdict))
        return refused(*refuse, agent.agent_id);
    return {};
}

std::unexpected<base::Error> capability_refused() {
    return std::unexpected(base::Error{.code = ErrorCode::Refused,
                                       .message = "this external trigger does not exist or was "
                                                  "revoked; ask the agent's operator for its URL",
                                       .kind = "capability_refused"});
}

bool is_by_hand(const Caller& caller) {
    return caller.admission == domain::AdmissionContext::ControlAuthenticated ||
           caller.admission == domain::AdmissionContext::LocalProcess;
}

// A text member of a JSON body, which external senders choose.
std::optional<std::string> text_in(const std::optional<domain::Body>& body, std::string_view name) {
    const auto* json = body ? std::get_if<domain::JsonBody>(&*body) : nullptr;
    const std::string text = json ? base::string_at(json->value, name) : "";
    if (text.empty()) return std::nullopt;
    return base::ellipsize(base::to_utf8(text), kProvenanceCharsMax);
}

// The wait that a delivery is about: one for this trigger, or for what the delivery refers to.
// Blockers of work items name neither: one of these is it while there is no second one.
const domain::Wait* correlated_wait(const std::vector<domain::Wait>& waits,
                                    const domain::ExternalTrigger& trigger,
                                    const CallbackRequest& request) {
    const domain::Wait* blocker = nullptr;
    std::size_t blockers = 0;
    for (const auto& wait : waits) {
        if (wait.kind != domain::WaitKind::External) continue;
        if (wait.subject_ref && (*wait.subject_ref == trigger.external_trigger_id.value ||
                                 wait.subject_ref == request.correlation_id))
            return &wait;
        if (wait.subject_ref || !wait.work_item_id) continue;
        blocker = &wait;
        ++blockers;
    }
    return blockers == 1 ? blocker : nullptr;
}

domain::events::CallbackDelivered delivered(const domain::ExternalTrigger& trigger,
                                            const CallbackRequest& request,
                                            const std::vector<domain::Wait>& waits,
                                            std::string disposition) {
    const auto* wait = correlated_wait(waits, trigger, request);
    return {.agent_id = trigger.target_agent_id,
            .waiting_intent_id = wait ? std::optional(wait->id.value) : std::nullopt,
            .work_item_id = wait ? wait->work_item_id : std::nullopt,
            .external_trigger_id = trigger.external_trigger_id,
            .scope = trigger.scope,
            .descriptor_delivery_mode = trigger.delivery_mode,
            .deprecated_enqueue_message_mapped_to_wake_hint =
                trigger.delivery_mode == domain::DeliveryMode::EnqueueMessage ||
                request.mode == "enqueue",
            .source = text_in(request.body, "source"),
            .resource = text_in(request.body, "resource"),
            .trigger_count = trigger.delivery_count,
            .delivery_surface = request.mode == "enqueue"
                                    ? domain::DeliverySurface::HttpCallbackEnqueue
                                    : domain::DeliverySurface::HttpCallbackWake,
            .disposition = std::move(disposition)};
}

base::Result<json::object> take_hint(events::Log& log, domain::WakeHint hint) {
    hint.created_at = log.now();
    const auto disposition = TRY(scheduler::submit(log, std::move(hint)));
    return json::object{{"disposition", base::enum_name(disposition)}};
}

}  // namespace

base::Result<std::string> LocalDeliveries::deliver(const domain::Message& message,
                                                   const std::optional<std::string>& dedupe_key) {
    std::string message_id;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        message_id = TRY(admit(log, message, dedupe_key));
        return {};
    }));
    return message_id;
}

base::Result<std::string> LocalDeliveries::admit(events::Log& log, const domain::Message& message,
                                                 const std::optional<std::string>& dedupe_key) {
    const auto outcome = TRY(admission::admit(log, message, dedupe_key));
    if (const auto* refuse = std::get_if<admission::Refuse>(&outcome))
        return refused(*refuse, message.agent_id);
    const auto* known = std::get_if<admission::AlreadyHave>(&outcome);
    return known ? known->message_id.value : message.id.value;
}

base::Result<std::string> LocalDeliveries::prompt(const std::string& agent, const std::string& text,
                                                  const Caller& caller) {
    if (base::trim(text).empty())
        return fail(ErrorCode::InvalidInput, "the prompt is empty; say what is to be done");
    // Only the control surface asks for this, over its socket or over TCP.
    ingress::Raw raw{.agent_id = {agent},
                     .kind = domain::MessageKind::OperatorPrompt,
                     .origin = domain::OperatorOrigin{caller.actor_id.value_or("control")},
                     .body = domain::TextBody{text},
                     .surface = domain::DeliverySurface::HttpControlPrompt,
                     .admission = caller.admission,
                     .priority = domain::Priority::Interject,
                     .metadata = json::object{{"control", true}}};
    const auto message = TRY(ingress::receive(std::move(raw), parts_.clock.now(), parts_.ids));
    auto id = TRY(deliver(message, std::nullopt));
    parts_.wake(message.agent_id);
    return id;
}

base::Result<std::string> LocalDeliveries::enqueue(const std::string& agent,
                                                   const EnqueueRequest& request) {
    if (request.kind != domain::MessageKind::WebhookEvent &&
        request.kind != domain::MessageKind::ChannelEvent)
        return fail(ErrorCode::Refused,
                    "an external sender cannot enqueue a {} message; send a webhook_event or a "
                    "channel_event",
                    base::enum_name(request.kind));
    if (request.priority == domain::Priority::Interject)
        return fail(ErrorCode::Refused,
                    "only the operator may interject; use next, normal or background");
    ingress::Raw raw{.agent_id = {agent},
                     .kind = request.kind,
                     .origin = request.origin,
                     .body = request.body,
                     .surface = request.surface,
                     .admission = domain::AdmissionContext::PublicUnauthenticated,
                     .priority = request.priority,
                     .metadata = request.metadata,
                     .correlation_id = request.correlation_id,
                     .causation_id = request.causation_id,
                     .dedupe_key = request.dedupe_key};
    const auto message = TRY(ingress::receive(std::move(raw), parts_.clock.now(), parts_.ids));
    auto id = TRY(deliver(message, request.dedupe_key));
    parts_.wake(message.agent_id);
    return id;
}

base::Result<json::object> LocalDeliveries::wake(const std::string& agent,
                                                 const WakeRequest& request, const Caller& caller) {
    const domain::AgentId id{agent};
    if (!is_by_hand(caller))
        return fail(ErrorCode::Refused, "only the operator may wake an agent by name");
    if (base::trim(request.reason).empty())
        return fail(ErrorCode::InvalidInput, "a wake needs a reason: say what has changed");
    json::object answer;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(check_receives(TRY(known_agent(log.tx(), id))));
        const std::string reason =
            base::ellipsize(base::to_utf8(request.reason), kWakeReasonCharsMax);
        TRY(log.append(id, domain::events::WakeRequested{.target_agent_id = id,
                                                         .reason = reason,
                                                         .admission_context = caller.admission}));
        answer = TRY(take_hint(log, {.target_agent_id = id,
                                     .reason = reason,
                                     .source = request.source,
                                     .correlation_id = request.correlation_id,
                                     .causation_id = request.causation_id}));
        return {};
    }));
    parts_.wake(id);
    return answer;
}

base::Result<json::object> LocalDeliveries::callback(const CallbackRequest& request) {
    if (request.mode != "wake" && request.mode != "enqueue") return capability_refused();
    json::object answer;
    domain::AgentId agent;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto trigger = TRY(log.tx().trigger_by_token(base::sha256_hex(request.token)));
        if (!trigger || trigger->status != domain::TriggerStatus::Active)
            return capability_refused();
        agent = trigger->target_agent_id;
        const auto target = TRY(log.tx().agent(agent));
        if (!target || target->identity.status == domain::IdentityStatus::Archived)
            return capability_refused();
        TRY(check_receives(*target));
        ++trigger->delivery_count;
        trigger->last_delivered_at = log.now();
        TRY(log.tx().put_trigger(*trigger));
        answer = TRY(take_hint(log, {.target_agent_id = agent,
                                     .reason = "external trigger",
                                     .source = "callback",
                                     .scope = trigger->scope,
                                     .delivery_mode = domain::DeliveryMode::WakeHint,
                                     .external_trigger_id = trigger->external_trigger_id,
                                     .body = request.body,
                                     .content_type = request.content_type,
                                     .correlation_id = request.correlation_id,
                                     .causation_id = request.causation_id,
                                     .trust = domain::TrustLevel::TrustedIntegration}));
        const std::string disposition = base::string_at(answer, "disposition");
        answer["agent_id"] = agent.value;
        answer["external_trigger_id"] = trigger->external_trigger_id.value;
        answer["scope"] = base::enum_name(trigger->scope);
        answer["delivery_mode"] = "wake_hint";
        return log.append(
            agent, delivered(*trigger, request, TRY(log.tx().open_waits(agent)), disposition));
    }));
    parts_.wake(agent);
    return answer;
}

}  // namespace service
