// A few threads for calls that may block.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/os/loop.h"

namespace http_surface {

// One thread submits. Tasks start in order; what they throw is a bug of theirs and ends the
// program.
class WorkerPool {
public:
    WorkerPool(std::size_t threads, std::size_t waiting_max);
    ~WorkerPool();  // As finish().
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // True until `waiting_max` tasks wait, and until finish().
    bool has_room() const;
    std::size_t waiting() const;
    // Dropped after finish().
    void submit(base::Job job);
    // Runs what is waiting, and returns when it has run.
    void finish();

private:
    void work();

    const std::size_t waiting_max_;
    mutable std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<base::Job> jobs_;
    bool ending_{false};
    std::vector<std::jthread> threads_;
};

}  // namespace http_surface
