#include "flow/scheduler/triggers.h"

#include "domain/events/waiting.h"

namespace scheduler {

using domain::ExternalTrigger;

namespace {

base::Result<ExternalTrigger> make_trigger(events::Log& log, const domain::AgentId& agent,
                                           domain::ExternalTriggerId id,
                                           const TokenHash& token_hash_of) {
    ExternalTrigger trigger{
        .external_trigger_id = std::move(id), .target_agent_id = agent, .created_at = log.now()};
    trigger.token_hash = token_hash_of(trigger.external_trigger_id);
    TRY(log.tx().put_trigger(trigger));
    TRY(log.append(agent, domain::events::ExternalTriggerCreated{
                              .external_trigger_id = trigger.external_trigger_id,
                              .agent_id = agent,
                              .scope = trigger.scope,
                              .delivery_mode = trigger.delivery_mode}));
    return trigger;
}

}  // namespace

base::Result<ExternalTrigger> ensure_trigger(events::Log& log, const domain::AgentId& agent,
                                             const TokenHash& token_hash_of) {
    if (auto known = TRY(log.tx().active_trigger(agent))) return std::move(*known);
    return make_trigger(log, agent, log.ids().fresh<domain::ExternalTriggerId>(), token_hash_of);
}

base::Result<bool> was_provisioned(store::Tx& tx, const domain::AgentId& agent) {
    return !TRY(tx.triggers(agent, 1)).empty();
}

base::Status provision(events::Log& log, const domain::AgentId& agent,
                       const TokenHash& token_hash_of,
                       std::optional<domain::ExternalTriggerId> id) {
    if (TRY(was_provisioned(log.tx(), agent))) return {};
    if (!id) id = log.ids().fresh<domain::ExternalTriggerId>();
    TRY(make_trigger(log, agent, std::move(*id), token_hash_of));
    return {};
}

base::Status revoke(events::Log& log, const domain::AgentId& agent) {
    auto trigger = TRY(log.tx().active_trigger(agent));
    if (!trigger) return {};
    trigger->status = domain::TriggerStatus::Revoked;
    trigger->revoked_at = log.now();
    TRY(log.tx().put_trigger(*trigger));
    return log.append(agent, domain::events::ExternalTriggerRevoked{
                                 .external_trigger_id = trigger->external_trigger_id,
                                 .agent_id = agent,
                                 .delivery_mode = trigger->delivery_mode});
}

}  // namespace scheduler
