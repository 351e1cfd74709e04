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

void FakeLoop::cancel(TimerHandle timer) {
    const auto handle = static_cast<std::uint64_t>(timer);
    std::erase_if(timers_, [&](const auto& entry) { return entry.first.handle == handle; });
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
    } else if (!timers_.empty()) {
        auto first = timers_.extract(timers_.begin());
        now_ = std::max(now_, first.key().at);
        task = std::move(first.mapped());
    } else {
        return false;
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
