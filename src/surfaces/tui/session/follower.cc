#include "surfaces/tui/session/follower.h"

#include <algorithm>
#include <utility>

namespace tui {

struct Follower::Shared {
    explicit Shared(const Wake& bell) : wake(&bell) {}

    std::mutex mutex;
    std::condition_variable_any changed;
    News news;
    std::size_t delta_bytes{0};
    std::int64_t notices{0};
    const Wake* wake;  // Null once the follower is gone.

    void ring() const {
        if (wake) wake->ring();
    }

    void notice() {
        {
            const std::lock_guard lock(mutex);
            ++notices;
        }
        changed.notify_all();
    }

    // Pieces of text that nobody has read yet become one.
    void add(const service::Delta& delta) {
        const std::lock_guard lock(mutex);
        if (delta_bytes + delta.text.size() > kDeltaBytesMax) return;
        delta_bytes += delta.text.size();
        auto& deltas = news.deltas;
        const bool is_text = delta.kind == service::DeltaKind::Text;
        if (is_text && !deltas.empty() && deltas.back().kind == service::DeltaKind::Text)
            deltas.back().text += delta.text;
        else
            deltas.push_back(delta);
        ring();
    }
};

Follower::Follower(service::Service& service, const Wake& wake, std::string agent,
                   std::int64_t after_seq)
    : service_(service),
      agent_(std::move(agent)),
      after_seq_(after_seq),
      shared_(std::make_shared<Shared>(wake)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Follower::~Follower() {
    thread_.request_stop();
    shared_->changed.notify_all();
    thread_.join();
    const std::lock_guard lock(shared_->mutex);
    shared_->wake = nullptr;
}

News Follower::take() {
    News news;
    {
        const std::lock_guard lock(shared_->mutex);
        news = std::exchange(shared_->news, {.is_connected = shared_->news.is_connected,
                                             .reason = shared_->news.reason,
                                             .retry_at = shared_->news.retry_at});
        shared_->delta_bytes = 0;
    }
    shared_->changed.notify_all();
    return news;
}

void Follower::lost(const base::Error& error) {
    report_loss(error, kRetryFirst);
    shared_->notice();
}

void Follower::report_loss(const base::Error& error, std::chrono::milliseconds wait) {
    const std::lock_guard lock(shared_->mutex);
    shared_->news.is_connected = false;
    shared_->news.reason = error.message;
    shared_->news.retry_at =
        std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()) +
        wait;
    shared_->ring();
}

void Follower::run(const std::stop_token& stop) {
    const auto shared = shared_;
    const auto watch = service_.watch(agent_, [shared](std::int64_t) { shared->notice(); });
    const auto deltas = service_.watch_deltas(
        agent_, [shared](const service::Delta& delta) { shared->add(delta); });
    auto wait = kRetryFirst;
    while (!stop.stop_requested()) {
        std::int64_t seen = 0;
        {
            std::unique_lock lock(shared->mutex);
            shared->changed.wait(lock, stop,
                                 [&] { return shared->news.events.size() < kEventsHeldMax; });
            seen = shared->notices;  // Before the read, so that nothing falls between the two.
        }
        if (stop.stop_requested()) return;
        auto page = service_.events(agent_, after_seq_, kEventPage);
        if (!page && page.error().code != base::ErrorCode::Unavailable) {
            const std::lock_guard lock(shared->mutex);
            shared->news.ended = page.error();
            shared->ring();
            return;
        }
        if (!page) {
            report_loss(page.error(), wait);
            std::unique_lock lock(shared->mutex);
            shared->changed.wait_for(lock, stop, wait, [&] { return shared->notices > seen; });
            wait = std::min(wait * 2, kRetryMax);
            continue;
        }
        wait = kRetryFirst;
        const bool is_full = page->size() == static_cast<std::size_t>(kEventPage);
        if (!page->empty()) after_seq_ = page->back().event_seq;
        std::unique_lock lock(shared->mutex);
        const bool was_away = !shared->news.is_connected;
        shared->news.is_connected = true;
        shared->news.reason.clear();
        shared->news.retry_at.reset();
        std::ranges::move(*page, std::back_inserter(shared->news.events));
        if (!page->empty() || was_away) shared->ring();
        if (is_full) continue;
        shared->changed.wait(lock, stop, [&] { return shared->notices > seen; });
    }
}

}  // namespace tui
