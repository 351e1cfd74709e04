// A loop and a clock in one, on made-up time: nothing waits, and every run is the same.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "base/os/loop.h"
#include "base/time.h"

namespace test_support {

// Time does not advance while jobs run, and jumps to the next timer when none is left. Offloaded
// work runs at once. Single-threaded. set_clock() changes what the wall clock shows, and with it
// when jobs of at() are due; jobs of after() are due as before.
class FakeLoop final : public base::Loop, public base::Clock {
public:
    static constexpr std::int64_t kTasksMax = 1'000'000;  // A livelock fails instead of hanging.

    void post(base::Job task) override;
    TimerHandle after(std::chrono::microseconds delay, base::Job task) override;
    TimerHandle at(base::Time when, base::Job task) override;
    void cancel(TimerHandle timer) override;
    void offload(base::Job work, base::Job done) override;
    base::Time now() override { return now_ + clock_offset_; }
    // As an administrator sets the clock.
    void set_clock(base::Time now) { clock_offset_ = now - now_; }

    // Runs the next task, jumping in time if need be; false when there is nothing left to do.
    bool run_one();
    // Runs until nothing is left to do, or kTasksMax.
    void run();
    // Runs until `condition` holds; false when there is nothing left to do before it does.
    bool run_until(const std::function<bool()>& condition);

private:
    struct Due {
        base::Time at;
        std::uint64_t handle;
        friend auto operator<=>(const Due&, const Due&) = default;
    };
    // The time since the start of this loop, by a clock that nobody sets; its start is made up.
    base::Time now_{base::Time(std::chrono::sys_days(std::chrono::year(2031) / 1 / 2))};
    std::uint64_t last_handle_{0};
    std::deque<base::Job> posted_;
    std::map<Due, base::Job> timers_;
    std::chrono::microseconds clock_offset_{0};
    std::map<Due, base::Job> wall_timers_;  // `at` is a time of the wall clock.
};

}  // namespace test_support
