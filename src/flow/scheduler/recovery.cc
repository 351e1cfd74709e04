#include "flow/scheduler/recovery.h"

#include "agent/identity/closure.h"
#include "agent/identity/transition.h"
#include "domain/events/messages.h"
#include "domain/events/scheduler.h"
#include "domain/events/turn.h"
#include "flow/queue/queue.h"
#include "flow/queue/waits.h"
#include "record/briefs/briefs.h"

namespace scheduler {

FaultOf fault_of(const base::Error& error) {
    switch (error.code) {
        case base::ErrorCode::Io:
        case base::ErrorCode::Unavailable:
        case base::ErrorCode::Conflict:
            return FaultOf::World;
        case base::ErrorCode::Corrupt:
        case base::ErrorCode::Internal:
            return FaultOf::Agent;
        case base::ErrorCode::InvalidInput:
        case base::ErrorCode::NotFound:
        case base::ErrorCode::Refused:
            return FaultOf::Message;
    }
    return FaultOf::Agent;
}

Readable load_readable(store::Store& store, const domain::AgentId& id) {
    Readable known;
    // A read of its own for each: one that fails may end its transaction.
    (void)store.read([&](store::Tx& tx) -> base::Status {
        known.agent = TRY(tx.agent(id));
        return {};
    });
    (void)store.read([&](store::Tx& tx) -> base::Status {
        known.statistics = TRY(tx.statistics(id));
        return {};
    });
    (void)store.read([&](store::Tx& tx) -> base::Status {
        known.pending = TRY(tx.pending_count(id));
        return {};
    });
    (void)store.read([&](store::Tx& tx) -> base::Status {
        known.status = identity::status_of(TRY(identity::load_facts(tx, id)));
        return {};
    });
    return known;
}

base::Status set_aside(events::Log& log, const Readable& known, domain::AgentFault fault) {
    const auto& id = fault.agent_id;
    fault.occurred_at = log.now();
    fault.is_set_aside = true;
    TRY(log.tx().put_fault(fault));
    TRY(log.append(id, domain::events::AgentSetAside{
                           .agent_id = id, .phase = fault.phase, .reason = fault.reason}));
    auto statistics = known.statistics.value_or(domain::AgentStatistics{.agent_id = id});
    TRY(briefs::publish(
        log, known.agent.value_or(domain::Agent{.agent_id = id}), statistics,
        {.kind = domain::BriefKind::Failure,
         .visibility = domain::BriefVisibility::ActionRequired,
         .text = fmt::format("The agent is set aside after a fault: {}. {} messages wait, and none "
                             "is lost. Check its records with: holon store check. Then let it try "
                             "again: holon agent recover {}. If it is one message that it cannot "
                             "handle: holon agent recover {} --drop-message",
                             fault.reason, known.pending, id, id)}));
    if (known.statistics) TRY(log.tx().put_statistics(statistics));
    return known.status ? identity::record_state(log, id, *known.status) : base::Status{};
}

base::Status count_crash(events::Log& log, const domain::AgentId& id, const Readable& known) {
    if (auto open = TRY(log.tx().open_attempt_of(id))) {
        ++open->restarts;
        return log.tx().put_attempt(*open);
    }
    if (!TRY(log.tx().agent(id))) return {};
    auto fault =
        TRY(log.tx().fault(id)).value_or(domain::AgentFault{.agent_id = id, .is_set_aside = false});
    if (fault.is_set_aside) return {};
    if (log.now() - fault.occurred_at > kCrashMemory) fault.crashes = 0;
    ++fault.crashes;
    fault.occurred_at = log.now();
    fault.phase = "process";
    fault.reason =
        fmt::format("the program died {} times while it worked for the agent", fault.crashes);
    if (fault.crashes < kCrashesMax) return log.tx().put_fault(fault);
    return set_aside(log, known, std::move(fault));
}

namespace {

constexpr std::string_view kDropped = "dropped_by_operator";

// Ends the turn without a step of its own: it is what could not be executed.
base::Status close_attempt(events::Log& log, domain::Attempt attempt,
                           domain::AgentStatistics& statistics) {
    attempt.state = domain::Closed{};
    attempt.closed_at = log.now();
    attempt.terminal =
        domain::TurnTerminal{.turn_index = attempt.turn_index,
                             .kind = domain::TerminalKind::Aborted,
                             .reason = std::string(kDropped),
                             .completed_at = log.now(),
                             .duration_ms = base::millis_between(attempt.opened_at, log.now())};
    statistics.last_turn_terminal = attempt.terminal;
    TRY(log.tx().put_attempt(attempt));
    for (const auto& entry : TRY(log.tx().outbox(attempt.agent_id)))
        if (base::string_at(entry.payload, "run_id") == attempt.run_id.value)
            TRY(log.tx().erase_outbox(entry.effect_id));
    return log.append(attempt.agent_id,
                      domain::events::TurnTerminal{*attempt.terminal, attempt.run_id});
}

base::Result<std::optional<store::QueuedMessage>> message_at(store::Tx& tx,
                                                             const domain::AgentId& agent) {
    if (const auto open = TRY(tx.open_attempt_of(agent))) return tx.message(open->message_id);
    return tx.next_message(agent);
}

}  // namespace

base::Status drop_message(events::Log& log, const domain::AgentId& id) {
    const auto fault = TRY(log.tx().fault(id));
    if (!fault || !fault->is_set_aside)
        return base::fail(base::ErrorCode::Conflict,
                          "agent {} is not set aside, so none of its messages is dropped", id);
    const auto agent = TRY(log.tx().agent(id));
    const auto queued = TRY(message_at(log.tx(), id));
    if (!agent || !queued)
        return base::fail(base::ErrorCode::Conflict,
                          "agent {} has no message that could be dropped; let it try again: holon "
                          "agent recover {}",
                          id, id);
    const auto& message = queued->message;
    auto statistics = TRY(log.tx().statistics(id));
    if (auto open = TRY(log.tx().open_attempt_of(id)))
        TRY(close_attempt(log, std::move(*open), statistics));
    TRY(queue::release(log, message.id, domain::QueueStatus::Dropped,
                       fmt::format("{}: {}", kDropped, fault->reason)));
    TRY(queue::resolve_waits(log, message, std::nullopt));
    TRY(log.append(id, domain::events::labelled(
                           domain::events::MessageQuarantined{.message_id = message.id,
                                                              .message_kind = message.kind,
                                                              .failures = queued->entry.failures,
                                                              .error = fault->reason},
                           message)));
    TRY(briefs::publish(
        log, *agent, statistics,
        {.kind = domain::BriefKind::Failure,
         .visibility = domain::BriefVisibility::TurnResult,
         .text = fmt::format("You dropped message {}, which the agent could not handle: {}",
                             message.id, fault->reason),
         .related_message_id = message.id}));
    return log.tx().put_statistics(statistics);
}

}  // namespace scheduler
