#include "flow/retention/idle.h"

#include <malloc.h>

namespace retention {

IdleRelease::IdleRelease(std::function<void()> release, base::Loop& loop, events::Feed& feed)
    : release_(std::move(release)),
      loop_(loop),
      subscription_(feed.subscribe([this](const events::Committed&) { note(); })) {
    note();  // What a start needs is not needed later.
}

IdleRelease::~IdleRelease() {
    loop_.cancel(timer_);
}

void IdleRelease::note() {
    ++commits_;
    if (watches_) return;
    watches_ = true;
    timer_ = loop_.after(kIdleAfter, [this, seen = commits_] { check(seen); });
}

void IdleRelease::check(std::uint64_t seen) {
    if (seen != commits_) {
        timer_ = loop_.after(kIdleAfter, [this, seen = commits_] { check(seen); });
        return;
    }
    watches_ = false;
    struct Released {};
    base::run_in_background<Released>(
        loop_, lifetime_,
        [release = release_]() -> base::Result<Released> {
            release();
            malloc_trim(0);
            return Released{};
        },
        [this](const base::Result<Released>&) { ++releases_; });
}

}  // namespace retention
