#include "surfaces/cli/actions/follow.h"

#include <condition_variable>
#include <mutex>

namespace cli {
namespace {

constexpr std::int64_t kPage = 512;

// Counts the notifications of a watch.
class News {
public:
    void add() {
        {
            const std::lock_guard lock(mutex_);
            ++count_;
        }
        changed_.notify_one();
    }
    std::int64_t count() {
        const std::lock_guard lock(mutex_);
        return count_;
    }
    void wait_beyond(std::int64_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return count_ > count; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t count_{0};
};

}  // namespace

base::Result<std::vector<domain::Event>> newest_events(const std::string& agent,
                                                       std::int64_t newest, std::int64_t count,
                                                       const Context& context) {
    auto events = context.service.events(agent, std::max<std::int64_t>(newest - count, 0), count);
    if (events || events.error().kind != "cursor_not_found") return events;
    return context.service.events(agent, 0, count);  // From the oldest that is kept.
}

Exit follow(const std::string& agent, std::int64_t after_seq, const Context& context,
            const std::function<void(const domain::Event&)>& show) {
    return follow_until(agent, after_seq, context, [&](const domain::Event& event) {
        show(event);
        return false;
    });
}

Exit follow_until(const std::string& agent, std::int64_t after_seq, const Context& context,
                  const std::function<bool(const domain::Event&)>& is_last) {
    News news;
    const auto token = context.service.watch(agent, [&](std::int64_t) { news.add(); });
    while (true) {
        // Before the read, so that nothing falls between the two.
        const std::int64_t seen = news.count();
        const auto events = context.service.events(agent, after_seq, kPage);
        // Waits for a daemon that restarts; the watch reports when it is back.
        const bool is_away =
            !events && token && events.error().code == base::ErrorCode::Unavailable;
        if (!events && !is_away) return report(context.terminal, events.error());
        if (events) {
            for (const auto& event : *events) {
                if (is_last(event)) return Exit::Success;
                after_seq = event.event_seq;
            }
            if (!context.terminal.is_written())
                return Exit::Success;  // The reader has closed its pipe.
            if (events->size() == static_cast<std::size_t>(kPage)) continue;
        }
        news.wait_beyond(seen);
    }
}

}  // namespace cli
