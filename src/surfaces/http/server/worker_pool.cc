#include "surfaces/http/server/worker_pool.h"

namespace http_surface {

WorkerPool::WorkerPool(std::size_t threads, std::size_t waiting_max) : waiting_max_(waiting_max) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
    finish();
}

void WorkerPool::finish() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    ready_.notify_all();
    threads_.clear();
}

bool WorkerPool::has_room() const {
    const std::lock_guard lock(mutex_);
    return !ending_ && jobs_.size() < waiting_max_;
}

std::size_t WorkerPool::waiting() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
}

void WorkerPool::submit(base::Job job) {
    {
        const std::lock_guard lock(mutex_);
        if (ending_) return;
        jobs_.push_back(std::move(job));
    }
    ready_.notify_one();
}

void WorkerPool::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ready_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        base::Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        job = nullptr;  // What it holds goes before the lock is taken again.
        lock.lock();
    }
}

}  // namespace http_surface
