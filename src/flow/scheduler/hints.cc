#include "flow/scheduler/hints.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "domain/events/scheduler.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"
#include "flow/queue/waits.h"
#include "record/briefs/briefs.h"

namespace scheduler {
namespace {

using domain::WakeHint;

json::object carried_by(const WakeHint& hint) {
    json::object carried = base::to_json(hint).as_object();
    carried["idempotency_key"] =
        fmt::format("wake_hint:{}:{}", base::enum_name(hint.scope.value_or(domain::TriggerScope())),
                    base::to_micros(hint.created_at));
    return carried;
}

// The tick that stands for the hint. InvalidInput when it is out of bounds.
base::Result<domain::Message> tick_of(events::Log& log, const WakeHint& hint) {
    json::object metadata{{"wake_hint", carried_by(hint)}};
    if (hint.external_trigger_id) metadata["external_trigger_id"] = hint.external_trigger_id->value;
    ingress::Raw raw{.agent_id = hint.target_agent_id,
                     .kind = domain::MessageKind::SystemTick,
                     .origin = domain::SystemOrigin{"wake_hint"},
                     .body = domain::TextBody{"Wake hint: " + hint.reason},
                     .surface = domain::DeliverySurface::RuntimeSystem,
                     .admission = domain::AdmissionContext::RuntimeOwned,
                     .priority = domain::Priority::Next,
                     // What an external sender said keeps its label when the runtime passes it on.
                     .trust = hint.trust,
                     .metadata = json::value(std::move(metadata)),
                     .correlation_id = hint.correlation_id,
                     .causation_id = hint.causation_id};
    return ingress::receive(std::move(raw), log.now(), log.ids());
}

base::Status emit(events::Log& log, const WakeHint& hint, const domain::Message& tick) {
    TRY(log.append(hint.target_agent_id, domain::events::WakeHintTriggered(hint)));
    TRY(admission::admit(log, tick, std::nullopt));
    return log.append(
        hint.target_agent_id,
        domain::events::SystemTickEmitted{
            .subsystem = "wake_hint", .message_id = tick.id, .wake_hint = carried_by(hint)});
}

std::size_t json_bytes(const WakeHint& hint) {
    return base::json_text(base::to_json(hint)).size();
}

}  // namespace

bool is_free(const identity::AgentFacts& facts) {
    const auto& agent = facts.agent;
    return !agent.stopped && !agent.paused && !agent.booting && !identity::is_set_aside(facts) &&
           !facts.open_attempt && facts.pending == 0 && !identity::is_blocked_by_task(facts);
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
    // Both were within the bound by themselves; together the oldest are only counted.
    while (!newer.merged.empty() && json_bytes(newer) > kHintBytesMax)
        newer.merged.resize(newer.merged.size() / 2);
    // Enumerators are ordered from most to least trusted.
    newer.trust = std::max(newer.trust, pending.trust);
    return newer;
}

base::Status check_hint(const WakeHint& hint) {
    for (const auto& label :
         {hint.source, hint.content_type, hint.correlation_id, hint.causation_id})
        if (label && label->size() > kHintLabelBytesMax)
            return base::fail(base::ErrorCode::InvalidInput,
                              "a label of the wake hint has {} bytes; the limit is {}",
                              label->size(), kHintLabelBytesMax);
    if (const auto bytes = json_bytes(hint); bytes > kHintBytesMax)
        return base::fail(base::ErrorCode::InvalidInput,
                          "the wake hint has {} bytes once its body is escaped as JSON; the limit "
                          "is {}. Send less, or a reference to where the content is",
                          bytes, kHintBytesMax);
    return {};
}

base::Result<Disposition> submit(events::Log& log, WakeHint hint) {
    TRY(check_hint(hint));
    TRY(queue::note_hint(log, hint.target_agent_id));
    const auto facts = TRY(identity::load_facts(log.tx(), hint.target_agent_id));
    if (is_free(facts)) {
        if (facts.pending_wake_hint) hint = merge(*facts.pending_wake_hint, std::move(hint));
        const auto tick = TRY(tick_of(log, hint));
        TRY(log.tx().erase_wake_hint(hint.target_agent_id));
        TRY(emit(log, hint, tick));
        return Disposition::Triggered;
    }
    TRY(log.append(hint.target_agent_id, domain::events::WakeHintCoalesced(hint)));
    TRY(log.tx().put_wake_hint(facts.pending_wake_hint ? merge(*facts.pending_wake_hint, hint)
                                                       : hint));
    return Disposition::Coalesced;
}

base::Result<bool> emit_pending(events::Log& log, const identity::AgentFacts& facts) {
    if (!facts.pending_wake_hint || !is_free(facts)) return false;
    const auto& hint = *facts.pending_wake_hint;
    TRY(log.tx().erase_wake_hint(facts.agent.agent_id));
    const auto tick = tick_of(log, hint);
    if (!tick) {
        TRY(log.append(facts.agent.agent_id,
                       domain::events::WakeHintQuarantined{.agent_id = facts.agent.agent_id,
                                                           .source = hint.source,
                                                           .error = tick.error().message}));
        auto statistics = facts.statistics;
        TRY(briefs::publish(log, facts.agent, statistics,
                            {.kind = domain::BriefKind::Failure,
                             .visibility = domain::BriefVisibility::TurnResult,
                             .text = "A wake hint was set aside, because no message can be made of "
                                     "it: " +
                                     tick.error().message}));
        TRY(log.tx().put_statistics(statistics));
        return true;
    }
    TRY(emit(log, hint, *tick));
    return true;
}

}  // namespace scheduler
