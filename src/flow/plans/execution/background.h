// Work that runs in the background, off the loop, and must be over before its owner is destroyed.
#pragma once

#include <memory>

#include "base/os/loop.h"

namespace plans {

// Used on the loop's thread. The loop outlives this.
class Background {
public:
    explicit Background(base::Loop& loop);
    // Waits for work that has begun; work that has not will not begin, and no `done` is called any
    // more. Not while the loop runs.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    // Runs `work` on another thread, where it may block and may use the owner, and then `done` on
    // the loop. `work` is destroyed before `done` runs. When `work` throws, `done` is dropped and
    // the loop gets the exception.
    void run(base::Job work, base::Job done);

    // How many works are under way.
    int running() const;

private:
    struct Latch;
    base::Loop& loop_;
    std::shared_ptr<Latch> latch_;
};

}  // namespace plans
