#include "flow/work_items/reminders.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "agent/work/decide.h"
#include "base/text.h"
#include "domain/events/scheduler.h"
#include "domain/events/waiting.h"
#include "domain/events/work.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"

namespace work_items {
namespace {

using domain::WorkItem;

constexpr std::string_view kWorkQueue = "work_queue";
constexpr std::string_view kRecheck = "work_item_recheck";
constexpr std::size_t kObjectiveChars = 2'000;

domain::TimerId recheck_timer(const domain::WorkItemId& item) {
    return {"recheck:" + item.value};
}

std::string_view reason_of(domain::ReactivationMode mode) {
    return mode == domain::ReactivationMode::ContinueActive ? "continue_active"
                                                            : "queued_available";
}

std::string tick_text(const WorkItem& item, domain::ReactivationMode mode) {
    const std::string objective = base::ellipsize(item.objective, kObjectiveChars);
    const std::string_view end =
        "When it is done, call CompleteWorkItem and write your report in the same message. When it "
        "cannot continue, call UpdateWorkItem with blocked_by, or with plan_status needs_input to "
        "ask the operator.";
    if (mode == domain::ReactivationMode::ContinueActive)
        return fmt::format("Continue your current work item {}: {}\n{}", item.id, objective, end);
    return fmt::format(
        "A queued work item is ready: {}: {}\nCall PickWorkItem before you work on it. {}", item.id,
        objective, end);
}

base::Result<domain::Message> tick(events::Log& log, const domain::AgentId& agent,
                                   std::string_view subsystem, std::string text,
                                   json::object metadata, domain::Priority priority,
                                   std::optional<domain::TrustLevel> trust) {
    return ingress::receive({.agent_id = agent,
                             .kind = domain::MessageKind::SystemTick,
                             .origin = domain::SystemOrigin{std::string(subsystem)},
                             .body = domain::TextBody{std::move(text)},
                             .surface = domain::DeliverySurface::RuntimeSystem,
                             .admission = domain::AdmissionContext::RuntimeOwned,
                             .priority = priority,
                             .trust = trust,
                             .metadata = json::value(std::move(metadata))},
                            log.now(), log.ids());
}

}  // namespace

bool is_work_tick(const domain::Message& message) {
    const auto* origin = std::get_if<domain::SystemOrigin>(&message.origin);
    return message.kind == domain::MessageKind::SystemTick && origin &&
           origin->subsystem == kWorkQueue;
}

base::Result<bool> emit_tick(events::Log& log, const identity::AgentFacts& facts) {
    const auto signal = identity::work_signal(facts);
    if (!signal) return false;
    const auto item = TRY(log.tx().work_item(signal->work_item_id));
    if (!item) return false;
    const auto mode = signal->reactivation_mode;
    json::object queue{{"reason", reason_of(mode)},
                       {"idempotency_key", fmt::format("work_queue:{}:{}:{}", reason_of(mode),
                                                       item->id, item->revision)},
                       {"work_item_id", item->id.value},
                       {"work_item_revision", item->revision},
                       {"objective", base::ellipsize(item->objective, kObjectiveChars)},
                       {"state", base::enum_name(item->state)},
                       {"runtime_switched_current_item", false}};
    const auto message = TRY(tick(log, facts.agent.agent_id, kWorkQueue, tick_text(*item, mode),
                                  {{"work_queue", queue}, {"work_item_id", item->id.value}},
                                  domain::Priority::Normal, item->trust));
    const auto outcome = TRY(admission::admit(log, message, std::nullopt));
    if (!std::holds_alternative<admission::Admitted>(outcome)) return false;
    TRY(log.append(facts.agent.agent_id,
                   domain::events::labelled(
                       domain::events::SchedulerDecision{.decision = "EmitSystemTick",
                                                         .reason = std::string(reason_of(mode)),
                                                         .message_id = message.id,
                                                         .boundary = "idle_tick"},
                       message)));
    TRY(log.append(facts.agent.agent_id,
                   domain::events::SystemTickEmitted{.subsystem = std::string(kWorkQueue),
                                                     .message_id = message.id,
                                                     .work_queue = std::move(queue)}));
    return true;
}

base::Status follow_recheck(events::Log& log, const WorkItem& item) {
    auto& tx = log.tx();
    const bool is_wanted =
        item.state == domain::WorkItemState::Open && item.blocked_by && item.recheck_at &&
        (!item.recheck_consumed_at || *item.recheck_consumed_at < *item.recheck_at);
    auto timer = TRY(tx.timer(recheck_timer(item.id)));
    if (!is_wanted) {
        if (!timer || timer->status != domain::TimerStatus::Active) return {};
        timer->status = domain::TimerStatus::Cancelled;
        timer->next_fire_at.reset();
        return tx.put_timer(*timer);
    }
    domain::Timer next{.id = recheck_timer(item.id),
                       .agent_id = item.agent_id,
                       .created_at = log.now(),
                       .duration_ms = base::millis_between(log.now(), *item.recheck_at),
                       .summary = "check a blocker: " + base::ellipsize(item.objective, 120),
                       .next_fire_at = item.recheck_at,
                       .trust = item.trust,
                       .work_item_id = item.id};
    if (timer && timer->status == domain::TimerStatus::Active &&
        timer->next_fire_at == next.next_fire_at)
        return {};
    return tx.put_timer(next);
}

base::Status fire_recheck(events::Log& log, domain::Timer timer) {
    auto& tx = log.tx();
    const auto due = TRY(tx.due_rechecks(timer.agent_id, log.now(), kRechecksPerTick));
    timer.status = domain::TimerStatus::Completed;
    timer.next_fire_at.reset();
    timer.last_fired_at = log.now();
    ++timer.fire_count;
    json::array items;
    std::string text = "Check what blocks these work items, then update or unblock them:";
    std::string key;
    std::optional<domain::TrustLevel> trust;
    for (const auto& item : due) {
        items.push_back(json::object{{"work_item_id", item.id.value},
                                     {"work_item_revision", item.revision},
                                     {"objective", base::ellipsize(item.objective, 240)},
                                     {"blocked_by", item.blocked_by.value_or("")},
                                     {"recheck_at", base::to_text(*item.recheck_at)}});
        text += fmt::format("\n- {}: {} (blocked by: {})", item.id,
                            base::ellipsize(item.objective, 240), item.blocked_by.value_or(""));
        key += fmt::format("{}{}@{}", key.empty() ? "" : ",", item.id,
                           base::to_text(*item.recheck_at));
        if (item.trust) trust = trust ? std::max(*trust, *item.trust) : *item.trust;
    }
    domain::events::TimerFired fired{
        .timer_id = timer.id, .status = timer.status, .fire_count = timer.fire_count};
    if (!due.empty()) {
        json::object recheck{
            {"idempotency_key", key}, {"count", items.size()}, {"items", std::move(items)}};
        const auto message =
            TRY(tick(log, timer.agent_id, kRecheck, std::move(text),
                     {{"work_item_recheck", recheck}}, domain::Priority::Background, trust));
        TRY(admission::admit(log, message, std::nullopt));
        TRY(log.append(timer.agent_id,
                       domain::events::SystemTickEmitted{.subsystem = std::string(kRecheck),
                                                         .message_id = message.id,
                                                         .work_item_recheck = std::move(recheck)}));
        timer.last_tick_message_id = message.id;
        fired.message_id = message.id;
    }
    for (const auto& item : due) {
        const auto consumed = work::consume_recheck(item, log.now());
        TRY(tx.put_work_item(consumed));
        TRY(log.append(item.agent_id, domain::events::WorkItemRecheckConsumed{
                                          .work_item_id = item.id,
                                          .revision = consumed.revision,
                                          .recheck_at = *consumed.recheck_at,
                                          .recheck_consumed_at = *consumed.recheck_consumed_at}));
    }
    TRY(tx.put_timer(timer));
    return log.append(timer.agent_id, fired);
}

}  // namespace work_items
