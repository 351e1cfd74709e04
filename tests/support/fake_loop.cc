#include "tests/support/fake_loop.h"

#include <algorithm>

namespace test_support {

void FakeLoop::post(base::Job task) {
    posted_.push_back(std::move(task));
}

base::Loop::TimerHandle FakeLoop::after(std::chrono::microseconds delay, base::Job task) {
    const Due due{now_ + std::max(delay, std::chrono::microseconds(0)), ++last_handle_};
    timers_.emplace(due, std::move(task));
    return static_cast<TimerHandle>(due.handle);
}

base::Loop::TimerHandle FakeLoop::at(base::Time when, base::Job task) {
    const Due due{when, ++last_handle_};
    wall_timers_.emplace(due, std::move(task));
    return static_cast<TimerHandle>(due.handle);
}

void FakeLoop::cancel(TimerHandle timer) {
    const auto is_it = [handle = static_cast<std::uint64_t>(timer)](const auto& entry) {
        return entry.first.handle == handle;
    };
    std::erase_if(timers_, is_it);
    std::erase_if(wall_timers_, is_it);
}

void FakeLoop::offload(base::Job work, base::Job done) {
    post([work = std::move(work), done = std::move(done)]() mutable {
        work();
        done();
    });
}

bool FakeLoop::run_one() {
    base::Job task;
    if (!posted_.empty()) {
        task = std::move(posted_.front());
        posted_.pop_front();
    } else if (timers_.empty() && wall_timers_.empty()) {
        return false;
    } else {
        // The one that is due first, by the clock that nobody sets.
        bool is_wall = timers_.empty();
        if (!is_wall && !wall_timers_.empty()) {
            const Due wall = wall_timers_.begin()->first;
            is_wall = Due{wall.at - clock_offset_, wall.handle} < timers_.begin()->first;
        }
        auto& due = is_wall ? wall_timers_ : timers_;
        auto first = due.extract(due.begin());
        now_ = std::max(now_, is_wall ? first.key().at - clock_offset_ : first.key().at);
        task = std::move(first.mapped());
    }
    task();
    return true;
}

void FakeLoop::run() {
    for (std::int64_t i = 0; i < kTasksMax; ++i)
        if (!run_one()) return;
}

bool FakeLoop::run_until(const std::function<bool()>& condition) {
    for (std::int64_t i = 0; i < kTasksMax; ++i) {
        if (condition()) return true;
        if (!run_one()) return condition();
    }
    return false;
}

}  // namespace test_support
