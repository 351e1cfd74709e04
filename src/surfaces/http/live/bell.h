// A way back to the loop for callbacks of the service that may still be under way when the server
// is gone.
#pragma once

#include <mutex>

#include "base/os/loop.h"

namespace http_surface {

// Any thread. Shared by the callbacks that ring and the loop that listens.
class Bell {
public:
    explicit Bell(base::Loop& loop) : loop_(&loop) {}
    // Dropped after silence().
    void post(base::Job task) {
        const std::lock_guard lock(mutex_);
        if (loop_) loop_->post(std::move(task));
    }
    void silence() {
        const std::lock_guard lock(mutex_);
        loop_ = nullptr;
    }

private:
    std::mutex mutex_;
    base::Loop* loop_;
};

}  // namespace http_surface
