#include "surfaces/tui/session/inbox.h"

namespace tui {

void Inbox::post(std::function<void()> what) {
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(what));
    }
    wake_.ring();
}

void Inbox::drain() {
    std::vector<std::function<void()>> posted;
    {
        const std::lock_guard lock(mutex_);
        posted.swap(posted_);
    }
    for (const auto& what : posted) what();
}

Background::Background(Inbox& inbox)
    : inbox_(inbox), thread_([this](const std::stop_token& stop) { work(stop); }) {}

Background::~Background() {
    thread_.request_stop();
}

void Background::add(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
}

void Background::work(const std::stop_token& stop) {
    while (true) {
        std::function<void()> job;
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return !jobs_.empty(); })) return;
            if (stop.stop_requested()) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job();
    }
}

}  // namespace tui
