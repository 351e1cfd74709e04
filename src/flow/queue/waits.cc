#include "flow/queue/waits.h"

#include <algorithm>

#include "agent/identity/transition.h"
#include "agent/work/decide.h"
#include "domain/events/waiting.h"
#include "domain/events/work.h"

namespace queue {
namespace {

using domain::MessageKind;
using domain::QueueStatus;
using domain::WaitKind;
using domain::WaitStatus;

std::string_view wake_source(WaitKind kind) {
    switch (kind) {
        case WaitKind::Task:
            return "task_result";
        case WaitKind::External:
            return "external_ingress";
        case WaitKind::Operator:
            return "operator_input";
        case WaitKind::Timer:
            return "timer";
        case WaitKind::System:
            return "system_tick";
    }
    return "system_tick";
}

bool is_external(const domain::Message& message) {
    return message.kind == MessageKind::WebhookEvent || message.kind == MessageKind::ChannelEvent ||
           message.kind == MessageKind::CallbackEvent;
}

// The names a message gives to what it is about.
bool names(const domain::Message& message, const std::string& subject) {
    if (!message.source_refs) return false;
    return std::ranges::any_of(*message.source_refs,
                               [&](const auto& ref) { return ref.second == subject; });
}

base::Status record_trigger(events::Log& log, const domain::Wait& wait,
                            const domain::Message& message) {
    return log.append(wait.agent_id, domain::events::WaitReconciliationRequested{
                                         .dedupe_key = fmt::format("{}:{}", wait.id, message.id),
                                         .message_id = message.id,
                                         .wait_condition_id = wait.id,
                                         .wake_source = std::string(wake_source(wait.kind)),
                                         .waiting_for = wait.waiting_for,
                                         .trigger_kind = message.trigger_kind,
                                         .subject_ref = wait.subject_ref});
}

base::Status trigger(events::Log& log, domain::Wait& wait, const domain::Message& message) {
    wait.status = WaitStatus::Triggered;
    wait.triggered_by = message.id;
    wait.updated_at = log.now();
    TRY(log.tx().put_wait(wait));
    return record_trigger(log, wait, message);
}

// Only a call of the agent or its operator ends these: the message may say nothing about them.
bool stays_active(const domain::Wait& wait) {
    return wait.work_item_id && wait.kind != WaitKind::Task;
}

base::Status note(events::Log& log, domain::Wait& wait) {
    wait.last_triggered_at = log.now();
    wait.trigger_count = wait.trigger_count.value_or(0) + 1;
    wait.updated_at = log.now();
    return log.tx().put_wait(wait);
}

// The message that the wait would be for, when it came first.
base::Result<std::optional<store::QueuedMessage>> earlier(store::Tx& tx, const domain::Wait& wait) {
    std::optional<domain::MessageId> id;
    if (wait.kind == WaitKind::Task && wait.subject_ref)
        id = TRY(tx.known_message({.agent_id = wait.agent_id},
                                  task_result_key(domain::TaskId{*wait.subject_ref})));
    if (wait.kind == WaitKind::Timer && wait.subject_ref)
        if (const auto timer = TRY(tx.timer(domain::TimerId{*wait.subject_ref}));
            timer && timer->status != domain::TimerStatus::Active)
            id = timer->last_tick_message_id;
    if (!id) return std::nullopt;
    return tx.message(*id);
}

domain::Timer expiry_of(const domain::Wait& wait, domain::TimerId id, base::Time now) {
    return {.id = std::move(id),
            .agent_id = wait.agent_id,
            .created_at = now,
            .duration_ms = base::millis_between(now, *wait.expires_at),
            .summary = "gave up waiting for " + wait.waiting_for,
            .next_fire_at = wait.expires_at,
            .wait_id = wait.id};
}

}  // namespace

bool triggers(const domain::Message& message, const domain::Wait& wait) {
    switch (wait.kind) {
        case WaitKind::Task:
            return message.kind == MessageKind::TaskResult && message.task_id &&
                   message.task_id->value == wait.subject_ref;
        case WaitKind::Timer: {
            const auto* timer = std::get_if<domain::TimerOrigin>(&message.origin);
            return timer && timer->timer_id.value == wait.subject_ref;
        }
        case WaitKind::External:
            return is_external(message) && (!wait.subject_ref || names(message, *wait.subject_ref));
        case WaitKind::Operator:
            return message.kind == MessageKind::OperatorPrompt;
        case WaitKind::System:
            return message.kind == MessageKind::InternalFollowup;
    }
    return false;
}

base::Status trigger_waits(events::Log& log, const domain::Message& message) {
    for (auto& wait : TRY(log.tx().open_waits(message.agent_id)))
        if (wait.status == WaitStatus::Active && triggers(message, wait)) {
            if (!stays_active(wait)) {
                TRY(trigger(log, wait, message));
                continue;
            }
            TRY(note(log, wait));
            TRY(record_trigger(log, wait, message));
        }
    return {};
}

base::Status note_hint(events::Log& log, const domain::AgentId& agent) {
    auto waits = TRY(log.tx().open_waits(agent));
    std::size_t noted = 0;
    for (auto wait = waits.rbegin(); wait != waits.rend() && noted < kNotedWaitsMax; ++wait)
        if (wait->work_item_id && wait->kind == WaitKind::External) {
            TRY(note(log, *wait));
            ++noted;
        }
    return {};
}

base::Status release_work_item(events::Log& log, const domain::Wait& wait) {
    if (wait.kind != WaitKind::Task || !wait.work_item_id) return {};
    auto item = TRY(log.tx().work_item(*wait.work_item_id));
    if (!item || item->blocked_by != work::kBlockedByTask) return {};
    for (const auto& other : TRY(log.tx().open_waits_of(item->id)))
        if (other.kind == WaitKind::Task) return {};
    auto freed =
        work::update(std::move(*item), {.id = *wait.work_item_id, .blocked_by = ""}, log.now());
    TRY(log.tx().put_work_item(freed.item));
    return log.append(wait.agent_id,
                      domain::events::WorkItemWritten{
                          .action = "updated", .record = base::to_json(freed.item).as_object()});
}

base::Status resolve_waits(events::Log& log, const domain::Message& message,
                           const std::optional<domain::RunId>& run) {
    for (auto& wait : TRY(log.tx().open_waits(message.agent_id))) {
        if (wait.status != WaitStatus::Triggered || wait.triggered_by != message.id) continue;
        wait.status = WaitStatus::Resolved;
        wait.resolved_by = run;
        wait.updated_at = log.now();
        TRY(log.tx().put_wait(wait));
        TRY(log.append(wait.agent_id,
                       domain::events::WaitConditionResolved{
                           .wait_condition_id = wait.id, .message_id = message.id, .run_id = run}));
        TRY(release_work_item(log, wait));
    }
    return {};
}

base::Result<domain::Wait> open_wait(events::Log& log, domain::Wait wait) {
    auto& tx = log.tx();
    if (std::ssize(TRY(tx.open_waits(wait.agent_id))) >= kOpenWaitsMax)
        return base::fail(base::ErrorCode::Refused,
                          "agent {} already has {} open waits; cancel some first", wait.agent_id,
                          kOpenWaitsMax);
    wait.status = WaitStatus::Active;
    wait.created_at = wait.updated_at = log.now();
    const auto result = TRY(earlier(tx, wait));
    const auto before = TRY(identity::current_status(tx, wait.agent_id));
    TRY(log.append(wait.agent_id, domain::events::WaitConditionCreated{wait}));
    if (!result) {
        if (wait.expires_at)
            TRY(tx.put_timer(expiry_of(wait, log.ids().fresh<domain::TimerId>(), log.now())));
        TRY(tx.put_wait(wait));
        TRY(identity::record_change(log, wait.agent_id, before));
        return wait;
    }
    TRY(trigger(log, wait, result->message));
    const auto status = result->entry.status;
    if (status == QueueStatus::Queued || status == QueueStatus::Interrupted) return wait;
    TRY(resolve_waits(log, result->message, std::nullopt));
    return TRY(tx.wait(wait.id)).value();
}

base::Status cancel_wait(events::Log& log, domain::Wait wait) {
    if (wait.status != WaitStatus::Active) return {};
    const auto before = TRY(identity::current_status(log.tx(), wait.agent_id));
    wait.status = WaitStatus::Cancelled;
    wait.updated_at = log.now();
    TRY(log.tx().put_wait(wait));
    TRY(log.append(wait.agent_id, domain::events::WaitConditionCancelled{wait.id}));
    return identity::record_change(log, wait.agent_id, before);
}

std::string task_result_key(const domain::TaskId& task) {
    return "task_result:" + task.value;
}

}  // namespace queue
