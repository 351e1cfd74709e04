// Jobs that are due when the wall clock shows a time, whatever happens to that clock meanwhile: it
// is set forward or back, the machine sleeps, or it boots with a wrong date.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/os/loop.h"
#include "base/time.h"

namespace base {

// What waits for the wall clock: a timerfd in a program, a fake in tests.
class WallSource {
public:
    virtual ~WallSource() = default;
    // From now on the owner's WallTimers::check() is called when the clock shows `when` or later,
    // and each time the clock was set. Replaces what was armed before; nothing: no call any more.
    virtual void arm(std::optional<Time> when) = 0;
};

// Used on one thread. The clock and the source are the caller's and outlive this.
class WallTimers {
public:
    WallTimers(Clock& clock, WallSource& source) : clock_(clock), source_(source) {}
    WallTimers(const WallTimers&) = delete;
    WallTimers& operator=(const WallTimers&) = delete;

    // Runs `job` once, from check(), not before the clock shows `when`. `id` is new.
    void add(std::uint64_t id, Time when, Job job);
    // The job will not run. False when there is none of this id.
    bool cancel(std::uint64_t id);
    // Runs what is due by the clock as it is now, earliest first, and arms the source for the rest.
    // A job may add and cancel. What a job throws leaves this; jobs that are still due run in the
    // next call, for which the source is armed.
    void check();
    // Drops all jobs. Their destructors may call cancel().
    void clear();

private:
    struct Entry {
        Time when;
        Job job;
    };
    void arm();

    Clock& clock_;
    WallSource& source_;
    std::multimap<Time, std::uint64_t> order_;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::optional<Time> armed_;
};

}  // namespace base
