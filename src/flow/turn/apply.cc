#include "flow/turn/apply.h"

#include "agent/identity/closure.h"
#include "agent/identity/transition.h"
#include "domain/events/scheduler.h"
#include "domain/events/turn.h"
#include "flow/admission/rejoin.h"
#include "flow/queue/queue.h"
#include "flow/queue/waits.h"
#include "flow/supervision/supervision.h"
#include "flow/turn/decide/interject.h"
#include "flow/turn/decide/settle.h"
#include "flow/turn/memory/remember.h"
#include "flow/work_items/work_items.h"
#include "record/briefs/briefs.h"

namespace turn {
namespace {

// What became of a request to sleep.
domain::events::SchedulerPostureDecision posture(std::string reason, domain::AgentStatus next,
                                                 json::value evidence) {
    return {.boundary = "lifecycle_sleep",
            .reason = std::move(reason),
            .previous_status = domain::AgentStatus::AwakeRunning,
            .next_status = next,
            .evidence = std::move(evidence)};
}

// Deliberate sleep: recorded with its reason, and with the timer that ends it when it has one.
// Input that is already waiting comes first.
base::Status sleep(events::Log& log, domain::Agent& agent, const domain::SleepRequest& request,
                   domain::TrustLevel trust) {
    const std::int64_t pending = TRY(log.tx().pending_count(agent.agent_id));
    if (pending > 0)
        return log.append(agent.agent_id,
                          posture("sleep_overridden_runnable_work", domain::AgentStatus::AwakeIdle,
                                  json::array{fmt::format("{} messages are waiting", pending)}));
    const auto facts = TRY(identity::load_facts(log.tx(), agent.agent_id));
    if (const auto signal = identity::work_signal(facts); signal && !request.duration_ms)
        return log.append(
            agent.agent_id,
            posture("sleep_overridden_runnable_work", domain::AgentStatus::AwakeIdle,
                    json::array{fmt::format("work item {} is runnable", signal->work_item_id)}));
    if (identity::is_blocked_by_task(facts) || facts.pending_wake_hint)
        return log.append(
            agent.agent_id,
            posture("sleep_overridden_runnable_work",
                    facts.pending_wake_hint ? domain::AgentStatus::AwakeIdle
                                            : domain::AgentStatus::AwaitingTask,
                    json::array{facts.pending_wake_hint ? "a wake hint is waiting"
                                                        : "a task's result is awaited"}));
    agent.sleep = domain::Sleep{.since = log.now(), .reason = request.reason, .trust = trust};
    json::object evidence{{"reason", request.reason}, {"since", base::to_text(log.now())}};
    if (request.duration_ms) {
        agent.sleep->until = log.now() + std::chrono::milliseconds(*request.duration_ms);
        evidence["wake_at"] = base::to_text(*agent.sleep->until);
        const domain::Timer timer{.id = log.ids().fresh<domain::TimerId>(),
                                  .agent_id = agent.agent_id,
                                  .created_at = log.now(),
                                  .duration_ms = *request.duration_ms,
                                  .summary = "sleep_duration",
                                  .next_fire_at = agent.sleep->until};
        agent.sleep->timer_id = timer.id;
        TRY(log.tx().put_timer(timer));
        TRY(log.tx().put_wait({.id = log.ids().fresh<domain::WaitId>(),
                               .agent_id = agent.agent_id,
                               .kind = domain::WaitKind::Timer,
                               .subject_ref = timer.id.value,
                               .waiting_for = "the end of a sleep: " + request.reason,
                               .created_at = log.now(),
                               .updated_at = log.now()}));
    }
    return log.append(agent.agent_id,
                      posture("sleep", domain::AgentStatus::Asleep, std::move(evidence)));
}

// What a closed turn still wanted done is no longer wanted.
base::Status drop_effects(store::Tx& tx, const domain::Attempt& attempt) {
    for (const auto& entry : TRY(tx.outbox(attempt.agent_id)))
        if (base::string_at(entry.payload, "run_id") == attempt.run_id.value)
            TRY(tx.erase_outbox(entry.effect_id));
    return {};
}

base::Status record_closed(events::Log& log, const domain::Agent& agent) {
    const auto facts = TRY(identity::load_facts(log.tx(), agent.agent_id));
    TRY(log.append(agent.agent_id,
                   domain::events::ClosureDecided{.agent_id = agent.agent_id,
                                                  .closure = identity::decide_closure(facts)}));
    // Control may have come before the end: then it no longer showed as running.
    const identity::AgentFacts before{.agent = agent, .open_attempt = domain::Attempt{}};
    return identity::record_state(log, facts, identity::status_of(before));
}

// What the brief means to its operator, as things stand now that the turn is over.
base::Result<domain::BriefVisibility> visibility(store::Tx& tx, const domain::AgentId& agent) {
    for (const auto& wait : TRY(tx.open_waits(agent)))
        if (wait.kind == domain::WaitKind::Operator && wait.status == domain::WaitStatus::Active)
            return domain::BriefVisibility::ActionRequired;
    return domain::BriefVisibility::TurnResult;
}

base::Status take_in(events::Log& log, const Facts& facts, const domain::MessageId& id) {
    TRY(queue::release(log, id, domain::QueueStatus::Interjected, facts.attempt.run_id.value));
    if (const auto queued = TRY(log.tx().message(id)))
        TRY(queue::resolve_waits(log, queued->message, facts.attempt.run_id));
    return {};
}

}  // namespace

base::Result<Facts> load(store::Tx& tx, const domain::RunId& run) {
    auto attempt = TRY(tx.attempt(run));
    if (!attempt) return base::fail(base::ErrorCode::NotFound, "there is no attempt {}", run);
    auto agent = TRY(tx.agent(attempt->agent_id));
    auto queued = TRY(tx.message(attempt->message_id));
    if (!agent || !queued)
        return base::fail(base::ErrorCode::Corrupt, "attempt {} has lost its agent or its message",
                          run);
    Facts facts{.agent = std::move(*agent),
                .statistics = TRY(tx.statistics(attempt->agent_id)),
                .attempt = std::move(*attempt),
                .message = std::move(queued->message)};
    if (const auto* tools = std::get_if<domain::AwaitingTools>(&facts.attempt.state))
        facts.executions = TRY(tx.tool_executions(run, tools->round));
    facts.interjections = TRY(waiting_interjections(tx, facts.agent.agent_id));
    if (domain::is_supervised(facts.agent))
        facts.delegated_tokens_left = identity::delegated_tokens_left(
            TRY(identity::load_spenders(tx, facts.agent, facts.statistics)));
    return facts;
}

std::string effect_id(const domain::RunId& run, const Effect& effect) {
    if (const auto* ask = std::get_if<AskModel>(&effect))
        return fmt::format("{}/ask/{}", run, ask->round);
    if (const auto* wait = std::get_if<WaitUntil>(&effect))
        return fmt::format("{}/wait/{}", run, wait->round);
    if (const auto* compact = std::get_if<Compact>(&effect))
        return fmt::format("{}/compact/{}", run, compact->round);
    if (const auto* summarise = std::get_if<Summarise>(&effect))
        return fmt::format("{}/summarise/{}", run, summarise->round);
    return fmt::format("{}/tool/{}", run, std::get<RunTool>(effect).call_id);
}

base::Status put_effects(events::Log& log, const domain::Attempt& attempt,
                         const std::vector<Effect>& effects) {
    for (const auto& effect : effects) {
        // The state of a parked attempt has the time, and a restart waits for it from there: a row
        // would say it twice.
        if (std::holds_alternative<WaitUntil>(effect)) continue;
        store::OutboxEntry entry{.effect_id = effect_id(attempt.run_id, effect),
                                 .agent_id = attempt.agent_id,
                                 .payload = json::object{{"run_id", attempt.run_id.value}},
                                 .created_at = log.now()};
        auto& payload = entry.payload.as_object();
        if (const auto* ask = std::get_if<AskModel>(&effect)) {
            entry.kind = "ask_model";
            payload["round"] = ask->round;
        } else if (const auto* compact = std::get_if<Compact>(&effect)) {
            entry.kind = "compact";
            payload["round"] = compact->round;
            payload["is_summary_tried"] = compact->is_summary_tried;
            if (!compact->summary.empty()) payload["summary"] = compact->summary;
        } else if (const auto* summarise = std::get_if<Summarise>(&effect)) {
            entry.kind = "summarise";
            payload["round"] = summarise->round;
        } else {
            entry.kind = "run_tool";
            payload["call_id"] = std::get<RunTool>(effect).call_id.value;
        }
        TRY(log.tx().put_outbox(entry));
    }
    return {};
}

base::Result<std::vector<Effect>> pending_effects(store::Tx& tx, const domain::Attempt& attempt) {
    std::vector<Effect> effects;
    for (const auto& entry : TRY(tx.outbox(attempt.agent_id))) {
        const auto& payload = entry.payload;
        if (base::string_at(payload, "run_id") != attempt.run_id.value) continue;
        if (entry.kind == "ask_model")
            effects.emplace_back(AskModel{base::int_at(payload, "round")});
        else if (entry.kind == "compact")
            effects.emplace_back(
                Compact{.round = base::int_at(payload, "round"),
                        .is_summary_tried = base::bool_at(payload, "is_summary_tried"),
                        .summary = base::string_at(payload, "summary")});
        else if (entry.kind == "summarise")
            effects.emplace_back(Summarise{base::int_at(payload, "round")});
        else if (entry.kind == "run_tool")
            effects.emplace_back(RunTool{{base::string_at(payload, "call_id")}});
        // Earlier versions also stored `wait_until`. Such a row goes when its wait or its turn
        // ends.
    }
    return effects;
}

base::Status apply(events::Log& log, const Facts& facts, Step step,
                   const std::optional<Effect>& finished, const Input& input,
                   const std::optional<domain::PlanArtifact>& plan) {
    auto& tx = log.tx();
    const auto& agent_id = facts.agent.agent_id;
    if (finished) TRY(tx.erase_outbox(effect_id(facts.attempt.run_id, *finished)));
    for (const auto& execution : step.executions) TRY(tx.put_tool_execution(execution));
    for (auto& entry : step.transcript) {
        entry.id = log.ids().uuid();
        entry.created_at = log.now();
        TRY(tx.append_transcript(entry));
    }
    for (auto& draft : step.events) TRY(log.append(agent_id, std::move(draft)));
    Written written{log, step.agent, step.attempt, facts.message};
    for (const auto& mutation : step.mutations)
        if (const auto write = rules_of(mutation).write) TRY(write(written, mutation));
    TRY(put_effects(log, step.attempt, step.effects));
    TRY(tx.put_attempt(step.attempt));
    if (step.release)
        TRY(queue::release(log, facts.message.id, step.release->status, step.release->reason));
    for (const auto& message : step.interjected) TRY(take_in(log, facts, message));
    if (step.closed())
        if (auto brief = TRY(work_items::end_turn(log, step.agent, step.attempt, facts.message,
                                                  {input.work.turns_without_progress_max, plan})))
            step.briefs.push_back(std::move(*brief));
    for (auto& brief : step.briefs) {
        // The item that is being worked on: the focus, else the one the turn was begun for.
        if (!brief.work_item_id)
            brief.work_item_id = step.agent.current_work_item_id ? step.agent.current_work_item_id
                                                                 : step.attempt.work_item_id;
        if (!brief.visibility) brief.visibility = TRY(visibility(tx, agent_id));
        TRY(briefs::publish(log, step.agent, statistics_of(step, facts), std::move(brief)));
    }
    if (step.closed()) TRY(drop_effects(tx, facts.attempt));
    const bool completed = step.closed() && step.attempt.terminal &&
                           step.attempt.terminal->kind == domain::TerminalKind::Completed;
    if (completed && step.attempt.sleep_request)
        TRY(sleep(log, step.agent, *step.attempt.sleep_request, trust_passed_on(facts.message)));
    TRY(tx.put_agent(step.agent));
    if (step.statistics) {
        TRY(tx.put_statistics(*step.statistics));
        TRY(supervision::charge(tx, step.agent, facts.statistics, *step.statistics));
    }
    // A turn that was interrupted is resumed: its message is not settled.
    const bool is_settled =
        step.closed() &&
        (!step.release || step.release->status != domain::QueueStatus::Interrupted);
    if (is_settled) TRY(remember(log, facts, step, input.spec_of));
    return step.closed() ? record_closed(log, step.agent) : base::Status{};
}

}  // namespace turn
