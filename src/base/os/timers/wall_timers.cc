#include "base/os/timers/wall_timers.h"

#include <utility>

namespace base {

void WallTimers::add(std::uint64_t id, Time when, Job job) {
    order_.emplace(when, id);
    entries_.emplace(id, Entry{when, std::move(job)});
    if (!armed_ || when < *armed_) arm();
}

bool WallTimers::cancel(std::uint64_t id) {
    // Extracted before it is destroyed: the job's destructor may come back here.
    const auto node = entries_.extract(id);
    if (!node) return false;
    auto [at, end] = order_.equal_range(node.mapped().when);
    while (at != end && at->second != id) ++at;
    if (at != end) order_.erase(at);
    return true;
}

void WallTimers::check() {
    struct Rearm {
        WallTimers& timers;
        ~Rearm() { timers.arm(); }
    };
    const Rearm rearm{*this};
    const Time now = clock_.now();
    // Those of this moment only: a job that adds another one for now does not keep the others out.
    std::vector<std::uint64_t> due;
    for (const auto& [when, id] : order_) {
        if (when > now) break;
        due.push_back(id);
    }
    for (const auto id : due) {
        const auto found = entries_.find(id);
        if (found == entries_.end()) continue;  // A job before it cancelled it.
        Job job = std::move(found->second.job);
        cancel(id);
        job();
    }
}

void WallTimers::clear() {
    order_.clear();
    const auto dropped = std::exchange(entries_, {});
}

void WallTimers::arm() {
    armed_.reset();
    if (!order_.empty()) armed_ = order_.begin()->first;
    source_.arm(armed_);
}

}  // namespace base
