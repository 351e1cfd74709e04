#include "flow/scheduler/hints.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "domain/events/scheduler.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"

namespace scheduler {
namespace {

using domain::WakeHint;

base::Status emit(events::Log& log, const WakeHint& hint) {
    json::object carried = base::to_json(hint).as_object();
    carried["idempotency_key"] =
        fmt::format("wake_hint:{}:{}", base::enum_name(hint.scope.value_or(domain::TriggerScope())),
                    base::to_micros(hint.created_at));
    json::object metadata{{"wake_hint", carried}};
    if (hint.external_trigger_id) metadata["external_trigger_id"] = hint.external_trigger_id->value;
    ingress::Raw raw{.agent_id = hint.target_agent_id,
                     .kind = domain::MessageKind::SystemTick,
                     .origin = domain::SystemOrigin{"wake_hint"},
                     .body = domain::TextBody{"Wake hint: " + hint.reason},
                     .surface = domain::DeliverySurface::RuntimeSystem,
                     .admission = domain::AdmissionContext::RuntimeOwned,
                     .priority = domain::Priority::Next,
                     // What came from outside stays from outside, whoever passes it on.
                     .trust = hint.trust,
                     .metadata = json::value(std::move(metadata)),
                     .correlation_id = hint.correlation_id,
                     .causation_id = hint.causation_id};
    const auto tick = TRY(ingress::receive(std::move(raw), log.now(), log.ids()));
    TRY(admission::admit(log, tick, std::nullopt));
    return log.append(
        hint.target_agent_id,
        domain::events::SystemTickEmitted{
            .subsystem = "wake_hint", .message_id = tick.id, .wake_hint = std::move(carried)});
}

}  // namespace

bool is_free(const identity::AgentFacts& facts) {
    const auto& agent = facts.agent;
    return !agent.stopped && !agent.paused && !agent.booting && !facts.open_attempt &&
           facts.pending == 0 && !identity::is_blocked_by_task(facts);
}

WakeHint merge(const WakeHint& pending, WakeHint newer) {
    newer.merged_count = pending.merged_count + newer.merged_count + 1;
    newer.merged.push_back({.reason = pending.reason,
                            .source = pending.source,
                            .external_trigger_id = pending.external_trigger_id,
                            .correlation_id = pending.correlation_id,
                            .created_at = pending.created_at});
    newer.merged.insert(newer.merged.end(), pending.merged.begin(), pending.merged.end());
    if (newer.merged.size() > kMergedHintsMax) newer.merged.resize(kMergedHintsMax);
    if (!newer.body) {
        newer.body = pending.body;
        newer.content_type = pending.content_type;
    }
    // Enumerators are ordered from most to least trusted.
    newer.trust = std::max(newer.trust, pending.trust);
    return newer;
}

base::Result<Disposition> submit(events::Log& log, WakeHint hint) {
    const auto facts = TRY(identity::load_facts(log.tx(), hint.target_agent_id));
    if (is_free(facts)) {
        if (facts.pending_wake_hint) hint = merge(*facts.pending_wake_hint, std::move(hint));
        TRY(log.tx().erase_wake_hint(hint.target_agent_id));
        TRY(log.append(hint.target_agent_id, domain::events::WakeHintTriggered(hint)));
        TRY(emit(log, hint));
        return Disposition::Triggered;
    }
    TRY(log.append(hint.target_agent_id, domain::events::WakeHintCoalesced(hint)));
    TRY(log.tx().put_wake_hint(facts.pending_wake_hint ? merge(*facts.pending_wake_hint, hint)
                                                       : hint));
    return Disposition::Coalesced;
}

base::Result<bool> emit_pending(events::Log& log, const identity::AgentFacts& facts) {
    if (!facts.pending_wake_hint || !is_free(facts)) return false;
    TRY(log.tx().erase_wake_hint(facts.agent.agent_id));
    TRY(log.append(facts.agent.agent_id,
                   domain::events::WakeHintTriggered(*facts.pending_wake_hint)));
    TRY(emit(log, *facts.pending_wake_hint));
    return true;
}

}  // namespace scheduler
