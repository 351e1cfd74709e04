#include "surfaces/http/worker_pool.h"

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
    return !ending_ && tasks_.size() < waiting_max_;
}

std::size_t WorkerPool::waiting() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
}

void WorkerPool::submit(base::Task task) {
    {
        const std::lock_guard lock(mutex_);
        if (ending_) return;
        tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
}

void WorkerPool::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ready_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        base::Task task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        task = nullptr;  // What it holds goes before the lock is taken again.
        lock.lock();
    }
}

}  // namespace http_surface
