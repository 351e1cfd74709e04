#include "flow/scheduler/timers/alarm.h"

#include "base/os/crash/crash_marks.h"
#include "domain/events/waiting.h"
#include "flow/scheduler/recovery.h"
#include "flow/scheduler/timers/timers.h"

namespace scheduler {
namespace {

// The result of a step that has none.
struct Done {};

}  // namespace

void Alarm::start() {
    is_running_ = true;
    fire_due();
}

void Alarm::stop() {
    is_running_ = false;
    parts_.loop.cancel(std::exchange(timer_, base::Loop::TimerHandle::None));
}

void Alarm::timers_changed() {
    if (!is_running_ || firing_ > 0) return;
    if (is_loading_) {
        has_changed_meanwhile_ = true;
        return;
    }
    is_loading_ = true;
    using Next = std::optional<base::Time>;
    parts_.committer.load<Next>(
        lifetime_, [](store::Tx& tx) { return tx.next_due(); },
        [this](const base::Result<Next>& next) {
            is_loading_ = false;
            if (std::exchange(has_changed_meanwhile_, false)) return timers_changed();
            wait_for(next ? *next : parts_.clock.now() + kFireRetry);
        });
}

void Alarm::wait_for(std::optional<base::Time> next) {
    if (!is_running_ || firing_ > 0 || next == due_at_) return;
    parts_.loop.cancel(std::exchange(timer_, base::Loop::TimerHandle::None));
    due_at_ = next;
    if (!next) return;
    timer_ = parts_.loop.at(*next, lifetime_.guard([this] {
        timer_ = base::Loop::TimerHandle::None;
        fire_due();
    }));
}

void Alarm::fire_due() {
    if (firing_ > 0 || !is_running_) return;
    due_at_.reset();
    if (is_loading_) {
        has_changed_meanwhile_ = true;
        return;
    }
    is_loading_ = true;
    using Due = store::DueTimers;
    parts_.committer.load<Due>(
        lifetime_,
        [now = parts_.clock.now()](store::Tx& tx) { return tx.due_timers(now, kTimerBatch); },
        [this](const base::Result<Due>& due) {
            is_loading_ = false;
            has_changed_meanwhile_ = false;
            if (!is_running_) return;
            if (!due) return fire_later();
            if (due->timers.empty() && due->broken.empty()) return timers_changed();
            fire_all(*due);
        });
}

void Alarm::fire_later() {
    parts_.loop.after(kFireRetry, lifetime_.guard([this] { fire_due(); }));
}

void Alarm::fire_all(const store::DueTimers& due) {
    has_failed_ = false;
    firing_ = due.timers.size() + due.broken.size();
    for (const auto& timer : due.broken) shelve(timer);
    for (const auto& timer : due.timers) fire(timer);
}

// A commit for each, so that one that fails takes no other with it; they share the trip to disk.
void Alarm::fire(const domain::Timer& timer) {
    parts_.committer.commit<Done>(
        lifetime_, {},
        [id = timer.id, agent = timer.agent_id](events::Log& log) -> base::Result<Done> {
            const base::CrashMark mark(agent.value);
            TRY(scheduler::fire(log, id));
            return Done{};
        },
        [this, timer](const base::Result<Done>& done) {
            if (done) {
                parts_.wake(timer.agent_id);
                return fired(true);
            }
            switch (fault_of(done.error())) {
                case FaultOf::World:
                    return fired(false);
                case FaultOf::Agent:  // It fires when the agent is recovered.
                    return parts_.set_aside(
                        timer.agent_id, done.error(),
                        lifetime_.guard([this](bool is_done) { fired(is_done); }));
                case FaultOf::Message:
                    return give_up(timer, done.error());
            }
        });
}

// One that cannot be read keeps its bytes for a repair, and is no longer in the way of the others.
void Alarm::shelve(const store::BrokenTimer& timer) {
    parts_.committer.commit<Done>(
        lifetime_, {},
        [timer](events::Log& log) -> base::Result<Done> {
            TRY(log.tx().shelve_timer(timer.id));
            TRY(log.append(timer.agent_id, domain::events::TimerFireFailed{.timer_id = timer.id,
                                                                           .error = timer.error}));
            return Done{};
        },
        [this](const base::Result<Done>& done) { fired(done.has_value()); });
}

// A timer that cannot fire would be due for ever, and in the way of the others.
void Alarm::give_up(const domain::Timer& timer, const base::Error& error) {
    parts_.committer.commit<Done>(
        lifetime_, {},
        [timer, error](events::Log& log) -> base::Result<Done> {
            auto ended = timer;
            ended.status = domain::TimerStatus::Cancelled;
            ended.next_fire_at.reset();
            TRY(log.tx().put_timer(ended));
            TRY(log.append(timer.agent_id, domain::events::TimerFireFailed{
                                               .timer_id = timer.id, .error = error.message}));
            return Done{};
        },
        [this](const base::Result<Done>& done) { fired(done.has_value()); });
}

void Alarm::fired(bool is_committed) {
    if (!is_committed) has_failed_ = true;
    if (--firing_ > 0) return;
    if (!has_failed_) return fire_due();
    fire_later();
}

}  // namespace scheduler
