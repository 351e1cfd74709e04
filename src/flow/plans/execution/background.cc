#include "flow/plans/execution/background.h"

#include <condition_variable>
#include <mutex>

namespace plans {

struct Background::Latch {
    mutable std::mutex mutex;
    std::condition_variable quiet;
    int running{0};
    bool is_closed{false};

    bool enter() {
        const std::lock_guard lock(mutex);
        if (!is_closed) ++running;
        return !is_closed;
    }
    bool closed() const {
        const std::lock_guard lock(mutex);
        return is_closed;
    }
    void leave() {
        const std::lock_guard lock(mutex);
        if (--running == 0) quiet.notify_all();
    }
};

Background::Background(base::Loop& loop) : loop_(loop), latch_(std::make_shared<Latch>()) {}

Background::~Background() {
    std::unique_lock lock(latch_->mutex);
    latch_->is_closed = true;
    latch_->quiet.wait(lock, [this] { return latch_->running == 0; });
}

void Background::run(base::Job work, base::Job done) {
    loop_.offload(
        [latch = latch_, work = std::move(work)]() mutable {
            if (!latch->enter()) return;
            struct Leave {
                Latch& latch;
                ~Leave() { latch.leave(); }
            };
            const Leave leave{*latch};  // Also when the work throws.
            work();
        },
        [latch = latch_, done = std::move(done)]() mutable {
            if (!latch->closed()) done();
        });
}

int Background::running() const {
    const std::lock_guard lock(latch_->mutex);
    return latch_->running;
}

}  // namespace plans
