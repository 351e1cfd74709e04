#include "service/run_client.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "base/log/log.h"

namespace service {
namespace {

constexpr std::int64_t kPage = 512;
// What is kept of deltas that the observer has not seen yet. Beyond it the oldest are dropped.
constexpr std::size_t kDeltasMax = 1024;

}  // namespace

// What the runtime and the operator have reported since the observer was last called.
struct RunClient::News {
    struct Batch {
        std::deque<Delta> deltas;
        bool has_events{false};
        std::optional<std::string> interrupt;
        std::optional<base::Status> ended;
        bool is_empty() const { return deltas.empty() && !has_events && !interrupt && !ended; }
    };

    void change(const std::function<void(Batch&)>& apply) {
        {
            const std::lock_guard lock(mutex);
            apply(batch);
        }
        changed.notify_one();
    }
    // Waits for news, for at most `bound` where that is above zero.
    Batch take(std::chrono::milliseconds bound) {
        std::unique_lock lock(mutex);
        const auto has_some = [this] { return !batch.is_empty(); };
        if (bound.count() > 0)
            changed.wait_for(lock, bound, has_some);
        else
            changed.wait(lock, has_some);
        return std::exchange(batch, {});
    }
    // Of an earlier run; an interrupt that came before the start is kept.
    void forget() {
        const std::lock_guard lock(mutex);
        batch = {.interrupt = std::move(batch.interrupt)};
    }

    std::mutex mutex;
    std::condition_variable changed;
    Batch batch;
    std::string agent;
};

RunClient::RunClient(Service& service) : service_(service), news_(std::make_shared<News>()) {}
RunClient::~RunClient() = default;

void RunClient::interrupt(std::string reason) {
    news_->change([&](News::Batch& batch) { batch.interrupt = std::move(reason); });
}

std::string RunClient::agent() const {
    const std::lock_guard lock(news_->mutex);
    return news_->agent;
}

base::Result<RunResponse> RunClient::run(const RunRequest& request, const Caller& caller,
                                         RunObserver& observer) {
    news_->forget();
    const auto hold =
        TRY(service_.start_run(request, caller, [news = news_](const base::Status& ended) {
            news->change([&](News::Batch& batch) { batch.ended = ended; });
        }));
    {
        const std::lock_guard lock(news_->mutex);
        news_->agent = hold.started.agent_id;
    }
    observer.on_started(hold.started);
    TRY(follow(hold.started, observer));
    auto response = TRY(service_.run_result(hold.started.run_id));
    if (const auto finished = service_.finish_run(hold.started.run_id); !finished)
        base::log_warn("run {} is over, but was not cleaned up: {}", hold.started.run_id,
                       finished.error().message);
    return response;
}

base::Status RunClient::follow(const RunStarted& started, RunObserver& observer) {
    std::shared_ptr<void> events;
    std::shared_ptr<void> deltas;
    if (observer.is_live()) {
        events = service_.watch(started.agent_id, [news = news_](std::int64_t) {
            news->change([](News::Batch& batch) { batch.has_events = true; });
        });
        deltas = service_.watch_deltas(started.agent_id, [news = news_](const Delta& delta) {
            news->change([&](News::Batch& batch) {
                if (batch.deltas.size() == kDeltasMax) batch.deltas.pop_front();
                batch.deltas.push_back(delta);
            });
        });
    }
    std::int64_t shown = started.event_seq;
    if (observer.tick_interval().count() > 0) observer.on_tick();
    while (true) {
        const auto batch = news_->take(observer.tick_interval());
        // A run that is over already is not to be stopped, and one that is lost cannot be.
        if (batch.interrupt && !batch.ended)
            (void)service_.interrupt_run(started.run_id, *batch.interrupt);
        for (const auto& delta : batch.deltas) observer.on_delta(delta);
        if (observer.is_live() && (batch.has_events || batch.ended))
            show_events(started, shown, observer);
        if (batch.ended) return *batch.ended;
        if (observer.tick_interval().count() > 0) observer.on_tick();
    }
}

// Events that cannot be read now are read with the next ones.
void RunClient::show_events(const RunStarted& started, std::int64_t& shown, RunObserver& observer) {
    while (true) {
        const auto page = service_.events(started.agent_id, shown, kPage);
        if (!page) return;
        for (const auto& event : *page) {
            observer.on_event(event);
            shown = event.event_seq;
        }
        if (std::ssize(*page) < kPage) return;
    }
}

}  // namespace service
