// Fires the timers of all agents when they are due.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "record/events/committer.h"

namespace scheduler {

// Timers that are due are fired this many at a time; turns get the writer in between. As many as
// turns may be open at once: with fewer, the last of many due timers waits for most of the turns of
// the first.
inline constexpr std::int64_t kTimerBatch = 256;
// How long to wait before another try when timers could not be read or fired.
inline constexpr std::chrono::seconds kFireRetry{5};

// Waits for the one next timer, so that nothing polls. Used on the loop's thread only.
class Alarm {
public:
    struct Parts {
        events::Committer committer;
        base::Loop& loop;
        base::Clock& clock;
        // A timer of the agent was fired.
        std::function<void(const domain::AgentId&)> wake;
        // The agent's own records are at fault; `then` receives whether it was set aside.
        std::function<void(const domain::AgentId&, const base::Error&,
                           std::function<void(bool is_done)> then)>
            set_aside;
    };
    explicit Alarm(Parts parts) : parts_(std::move(parts)) {}

    // Fires what is due and waits for what comes.
    void start();
    // Fires nothing more.
    void stop();
    // A timer may be due earlier than the one that is waited for.
    void timers_changed();

private:
    void wait_for(std::optional<base::Time> next);
    void fire_due();
    void fire_all(const store::DueTimers& due);
    void fire(const domain::Timer& timer);
    void shelve(const store::BrokenTimer& timer);
    void give_up(const domain::Timer& timer, const base::Error& error);
    void fire_later();
    void fired(bool is_committed);

    Parts parts_;
    bool is_running_{false};
    bool is_loading_{false};
    bool has_changed_meanwhile_{false};
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
    std::optional<base::Time> due_at_;  // What timer_ waits for.
    std::size_t firing_{0};
    bool has_failed_{false};
    base::Lifetime lifetime_;
};

}  // namespace scheduler
