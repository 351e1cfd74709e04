#include "flow/scheduler/timers/timers.h"

#include "agent/identity/transition.h"
#include "base/calendar/calendar.h"
#include "base/text.h"
#include "domain/events/waiting.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"
#include "flow/queue/waits.h"
#include "flow/work_items/reminders.h"

namespace scheduler {
namespace {

using base::ErrorCode;
using base::fail;
using domain::Timer;
using domain::TimerStatus;

base::Result<bool> has_queued_tick(store::Tx& tx, const Timer& timer) {
    if (!timer.last_tick_message_id) return false;
    const auto tick = TRY(tx.message(*timer.last_tick_message_id));
    return tick && (tick->entry.status == domain::QueueStatus::Queued ||
                    tick->entry.status == domain::QueueStatus::Interrupted);
}

// The text that the agent receives. The end of a sleep it asked for says so.
base::Result<domain::Message> tick_of(events::Log& log, const Fired& fired,
                                      const std::optional<domain::Sleep>& sleep) {
    const auto& timer = fired.timer;
    json::object metadata{{"timer_id", timer.id.value},
                          {"due_at", base::to_text(fired.due)},
                          {"fire_count", timer.fire_count},
                          {"missed", fired.missed}};
    std::string text = "Timer: " + timer.summary.value_or(timer.id.value);
    std::optional<domain::TrustLevel> trust = timer.trust;
    if (sleep && sleep->timer_id == timer.id) {
        metadata["sleep_wait"] = {{"duration_ms", timer.duration_ms},
                                  {"sleeping_until", base::to_text(fired.due)}};
        text = "The sleep you asked for is over: " + sleep->reason;
        trust = sleep->trust;
    }
    if (fired.missed > 0) text += fmt::format(" ({} earlier times were missed)", fired.missed);
    return ingress::receive({.agent_id = timer.agent_id,
                             .kind = domain::MessageKind::TimerTick,
                             .origin = domain::TimerOrigin{timer.id},
                             .body = domain::TextBody{std::move(text)},
                             .surface = domain::DeliverySurface::TimerScheduler,
                             .admission = domain::AdmissionContext::RuntimeOwned,
                             // What untrusted input asked for is no instruction of ours later.
                             .trust = trust,
                             .metadata = json::value(std::move(metadata))},
                            log.now(), log.ids());
}

// The wait that gave up has nothing to give up any more when what it waited for has come.
base::Result<bool> expire_wait(events::Log& log, const domain::WaitId& id) {
    auto wait = TRY(log.tx().wait(id));
    if (!wait || wait->status != domain::WaitStatus::Active) return false;
    const auto before = TRY(identity::current_status(log.tx(), wait->agent_id));
    wait->status = domain::WaitStatus::Expired;
    wait->updated_at = log.now();
    TRY(log.tx().put_wait(*wait));
    TRY(log.append(wait->agent_id, domain::events::WaitConditionExpired{
                                       .wait_condition_id = id, .waiting_for = wait->waiting_for}));
    TRY(identity::record_change(log, wait->agent_id, before));
    return true;
}

base::Status check(const TimerRequest& request, base::Time now) {
    if (request.duration_ms < 0 || request.duration_ms > kTimerMsMax)
        return fail(ErrorCode::InvalidInput, "duration_ms is {}; it must be from 0 to {}",
                    request.duration_ms, kTimerMsMax);
    if (request.at && *request.at > now + std::chrono::milliseconds(kTimerMsMax))
        return fail(ErrorCode::InvalidInput, "{} is more than a year away",
                    base::to_text(*request.at));
    if (request.interval_ms &&
        (*request.interval_ms < kIntervalMsMin || *request.interval_ms > kTimerMsMax))
        return fail(ErrorCode::InvalidInput, "interval_ms is {}; it must be from {} to {}",
                    *request.interval_ms, kIntervalMsMin, kTimerMsMax);
    return {};
}

// To the first time of its cron expression after `now`. A zone that the system has lost since ends
// it.
Fired move_on_calendar(Fired fired, base::Time now) {
    auto& timer = fired.timer;
    auto next = fired.due;
    while (next <= now) {
        const auto found = calendar::next_cron(*timer.cron, timer.time_zone.value_or("UTC"),
                                               fired.missed < kMissedCounted ? next : now);
        if (!found) {
            timer.status = TimerStatus::Completed;
            timer.next_fire_at.reset();
            return fired;
        }
        next = *found;
        if (next <= now) ++fired.missed;
    }
    timer.next_fire_at = next;
    return fired;
}

}  // namespace

base::Result<Timer> create_timer(events::Log& log, const TimerRequest& request) {
    TRY(check(request, log.now()));
    if (TRY(log.tx().active_timer_count(request.agent_id)) >= kTimersPerAgentMax)
        return fail(ErrorCode::Refused, "agent {} already has {} timers; cancel some first",
                    request.agent_id, kTimersPerAgentMax);
    Timer timer{.id = log.ids().fresh<domain::TimerId>(),
                .agent_id = request.agent_id,
                .created_at = log.now(),
                .duration_ms = request.duration_ms,
                .interval_ms = request.interval_ms,
                .repeat = request.interval_ms.has_value(),
                .next_fire_at = log.now() + std::chrono::milliseconds(request.duration_ms)};
    if (request.at) {
        timer.next_fire_at = std::max(*request.at, log.now());
        timer.duration_ms = base::millis_between(log.now(), *timer.next_fire_at);
    }
    if (request.cron) {
        timer.next_fire_at = TRY(calendar::next_cron(*request.cron, request.time_zone, log.now()));
        timer.duration_ms = base::millis_between(log.now(), *timer.next_fire_at);
        timer.repeat = true;
        timer.cron = request.cron;
        timer.time_zone = request.time_zone;
    }
    if (request.summary)
        timer.summary = base::ellipsize(base::to_utf8(*request.summary), kTimerSummaryCharsMax);
    if (request.trust > domain::TrustLevel::TrustedSystem) timer.trust = request.trust;
    TRY(log.tx().put_timer(timer));
    TRY(log.append(timer.agent_id, domain::events::TimerCreated{timer}));
    return timer;
}

base::Result<Timer> cancel_timer(events::Log& log, const domain::AgentId& agent,
                                 const domain::TimerId& id) {
    auto timer = TRY(log.tx().timer(id));
    if (!timer || timer->agent_id != agent)
        return fail(ErrorCode::NotFound, "agent {} has no timer {}", agent, id);
    if (timer->status != TimerStatus::Active) return *timer;
    timer->status = TimerStatus::Cancelled;
    timer->next_fire_at.reset();
    TRY(log.tx().put_timer(*timer));
    for (auto& wait : TRY(log.tx().open_waits(agent)))
        if (wait.kind == domain::WaitKind::Timer && wait.subject_ref == id.value)
            TRY(queue::cancel_wait(log, std::move(wait)));
    TRY(log.append(agent, domain::events::TimerCancelled{*timer}));
    return *timer;
}

Fired move_on(Timer timer, base::Time now) {
    Fired fired{.timer = std::move(timer)};
    auto& moved = fired.timer;
    fired.due = moved.next_fire_at.value_or(now);
    ++moved.fire_count;
    moved.last_fired_at = now;
    if (moved.cron) return move_on_calendar(std::move(fired), now);
    if (!moved.interval_ms || *moved.interval_ms <= 0) {
        moved.status = TimerStatus::Completed;
        moved.next_fire_at.reset();
        return fired;
    }
    const std::chrono::milliseconds interval(*moved.interval_ms);
    fired.missed = (now - fired.due) / interval;
    moved.next_fire_at = fired.due + interval * (fired.missed + 1);
    return fired;
}

base::Status fire(events::Log& log, const domain::TimerId& id) {
    auto& tx = log.tx();
    const auto timer = TRY(tx.timer(id));
    if (!timer || timer->status != TimerStatus::Active || !timer->next_fire_at ||
        *timer->next_fire_at > log.now())
        return {};
    if (timer->work_item_id) return work_items::fire_recheck(log, *timer);
    const bool is_queued = TRY(has_queued_tick(tx, *timer));
    Fired fired = move_on(*timer, log.now());
    const auto agent = TRY(tx.agent(timer->agent_id));
    if (!agent)
        return fail(ErrorCode::NotFound, "timer {} belongs to agent {}, who does not exist", id,
                    timer->agent_id);
    const bool is_moot = timer->wait_id && !TRY(expire_wait(log, *timer->wait_id));
    std::optional<domain::Message> tick;
    if (!is_queued && !is_moot) {
        tick = TRY(tick_of(log, fired, agent->sleep));
        fired.timer.last_tick_message_id = tick->id;
    }
    TRY(tx.put_timer(fired.timer));
    domain::events::TimerFired record{.timer_id = id,
                                      .status = fired.timer.status,
                                      .fire_count = fired.timer.fire_count,
                                      .missed = fired.missed,
                                      .next_fire_at = fired.timer.next_fire_at};
    if (tick) record.message_id = tick->id;
    TRY(log.append(timer->agent_id, record));
    if (tick) TRY(admission::admit(log, *tick, std::nullopt));
    return {};
}

}  // namespace scheduler
