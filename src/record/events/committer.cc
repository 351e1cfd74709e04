#include "record/events/committer.h"

#include <algorithm>
#include <thread>

#include "base/log/log.h"

namespace events {

bool is_passing_fault(const base::Error& error) {
    return error.code == base::ErrorCode::Unavailable || error.code == base::ErrorCode::Io;
}

// The store gets a bare pointer to the step and a callback that owns it: whatever order the store
// destroys them in, the step itself always returns to the loop.
void Committer::submit(std::unique_ptr<Pending> pending) const {
    auto* const step = pending.get();
    parts_.store.write_async(
        step->options.durability,
        [step, &clock = parts_.clock, &ids = parts_.ids,
         channels = parts_.brief_channels](store::Tx& tx) -> base::Status {
            const auto stay = step->owner.stay();
            if (!stay) return base::fail(base::ErrorCode::Unavailable, "the owner is gone");
            Log log(tx, clock.now(), ids, channels);
            TRY(step->execute(log));
            step->events = log.take();
            return {};
        },
        [self = *this, pending = std::move(pending)](base::Status status) mutable {
            self.parts_.loop.post(
                [self, pending = std::move(pending), status = std::move(status)]() mutable {
                    self.settle(std::move(pending), status);
                });
        });
}

void Committer::settle(std::unique_ptr<Pending> pending, const base::Status& status) const {
    if (pending->owner.expired()) return;
    if (status) {
        parts_.feed.publish(pending->events);
        return pending->finish(status);
    }
    if (pending->options.on_fault == OnFault::Report || !is_passing_fault(status.error()))
        return pending->finish(status);
    const auto patience = pending->options.patience;
    if (patience.count() > 0 && pending->waited + pending->pause > patience)
        return pending->finish(status);
    if (pending->pause == kCommitRetryFirst)
        base::log_error("a commit failed and will be retried: {}", status.error().message);
    const auto pause = pending->pause;
    pending->waited += pause;
    pending->pause = std::min(pending->pause * 2, kCommitRetryMax);
    parts_.loop.after(pause, [self = *this, pending = std::move(pending)]() mutable {
        if (!pending->owner.expired()) self.submit(std::move(pending));
    });
}

// A full disk is not waited for here: somebody has to make room first, and the caller can say so.
base::Status Committer::write_now(const base::Lifetime::Watch& owner,
                                  const std::function<base::Status(Log&)>& work) {
    std::vector<Committed> committed;
    bool is_refused = false;  // By `work`, whose Unavailable is an answer and no fault.
    const auto commit_once = [&] {
        return parts_.store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
            Log log(tx, parts_.clock.now(), parts_.ids, parts_.brief_channels);
            auto done = work(log);
            is_refused = !done.has_value();
            if (done) committed = log.take();
            return done;
        });
    };
    const auto deadline = std::chrono::steady_clock::now() + parts_.now_patience;
    auto status = commit_once();
    for (auto pause = kCommitRetryFirst;
         !status && !is_refused && status.error().code == base::ErrorCode::Unavailable &&
         std::chrono::steady_clock::now() + pause < deadline;
         pause = std::min(pause * 2, kCommitRetryMax)) {
        std::this_thread::sleep_for(pause);
        status = commit_once();
    }
    if (!status || committed.empty()) return status;
    parts_.loop.post([owner, &feed = parts_.feed, committed = std::move(committed)] {
        if (!owner.expired()) feed.publish(committed);
    });
    return {};
}

}  // namespace events
