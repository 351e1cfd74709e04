// The one thread that runs all jobs, and the way to offload blocking work from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "base/time.h"

namespace base {

using Job = std::move_only_function<void()>;

// Runs jobs one at a time, in order. post() may be called from any thread; everything else only
// from a job of the loop itself. The simulator has one on a fake clock.
class Loop {
public:
    enum class TimerHandle : std::uint64_t { None = 0 };

    virtual ~Loop() = default;

    // Runs `job` soon, after what was posted before it.
    virtual void post(Job job) = 0;

    // Runs `job` once, not before `delay` has passed.
    virtual TimerHandle after(std::chrono::microseconds delay, Job job) = 0;

    // Runs `job` once, when the wall clock shows `when` or later, also after it was set or the
    // machine slept.
    virtual TimerHandle at(Time when, Job job) = 0;

    // The job will not run, unless it already has. TimerHandle::None is allowed.
    virtual void cancel(TimerHandle timer) = 0;

    // Offloads `work` to another thread (it may block) and then runs `done` on the loop. `work`
    // must touch only what it owns.
    virtual void offload(Job work, Job done) = 0;
};

}  // namespace base
