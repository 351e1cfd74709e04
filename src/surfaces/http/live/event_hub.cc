#include "surfaces/http/live/event_hub.h"

#include <atomic>
#include <list>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "service/views/envelope.h"

namespace http_surface {
namespace {

struct Page {
    std::deque<Frame> frames;
    std::optional<base::Error> failure;
};

// The frames after `after`, without a gap. Runs on a thread that may block.
Page read_frames(service::Service& service, const std::string& agent, std::int64_t after) {
    Page page;
    const auto events = service.event_page(
        agent, {.after_seq = after, .limit = kPageEvents, .newest_first = false});
    if (!events) {
        page.failure = events.error();
        return page;
    }
    std::size_t bytes = 0;
    for (const auto& event : *events) {
        if (event.event_seq != after + 1) {
            if (page.frames.empty())
                page.failure =
                    base::Error{base::ErrorCode::NotFound,
                                "events after the cursor are no longer kept", "cursor_not_found"};
            break;
        }
        auto text = std::make_shared<const std::string>(encode_frame(agent, event));
        bytes += text->size();
        page.frames.push_back({event.event_seq, std::move(text)});
        after = event.event_seq;
        if (bytes >= kPageBytesMax) break;
    }
    return page;
}

}  // namespace

std::string encode_frame(const std::string& agent, const domain::Event& event) {
    const std::string data = base::json_text(base::to_json(views::envelope({agent}, event)));
    return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.event_seq,
                       base::printable(event.kind), data);
}

std::string encode_delta(const service::Delta& delta) {
    return fmt::format("event: delta\ndata: {}\n\n", base::json_text(base::to_json(delta)));
}

namespace {

// Deltas between two iterations of the loop. Filled on a thread of the runtime.
class DeltaBox {
public:
    // True when the loop has to be notified.
    bool add(service::Delta delta) {
        const std::lock_guard lock(mutex_);
        bytes_ += delta.text.size();
        list_.push_back(std::move(delta));
        while (bytes_ > kDeltaBytesMax && list_.size() > 1) {
            bytes_ -= list_.front().text.size();
            list_.pop_front();
        }
        return !std::exchange(is_posted_, true);
    }
    std::deque<service::Delta> take() {
        const std::lock_guard lock(mutex_);
        is_posted_ = false;
        bytes_ = 0;
        return std::exchange(list_, {});
    }

private:
    std::mutex mutex_;
    std::deque<service::Delta> list_;
    std::size_t bytes_{0};
    bool is_posted_{false};
};

}  // namespace

class Channel : public std::enable_shared_from_this<Channel> {
public:
    Channel(EventHub& hub, std::string agent, std::int64_t newest)
        : hub_(hub), agent_(std::move(agent)), filled_to_(newest), newest_(newest) {}

    // Subscribes to new events first and loads the newest then, so that none is missed.
    void start() {
        auto rung = std::make_shared<Rung>();
        hub_.submit_([&service = hub_.service_, agent = agent_, bell = hub_.bell_, rung,
                      weak = weak_from_this()]() mutable {
            auto watch = service.watch(agent, [bell, rung, weak](std::int64_t newest) {
                ring(*bell, rung, weak, newest);
            });
            const auto newest = service.newest_event(agent);
            bell->post([weak = std::move(weak), watch = std::move(watch),
                        newest = newest.value_or(0)]() mutable {
                if (const auto channel = weak.lock()) {
                    channel->watch_ = std::move(watch);
                    channel->advance(newest);
                }
            });
        });
    }

    // For the first reader that wants deltas.
    void start_deltas() {
        if (std::exchange(watches_deltas_, true)) return;
        hub_.submit_([&service = hub_.service_, agent = agent_, bell = hub_.bell_,
                      weak = weak_from_this()]() mutable {
            auto box = std::make_shared<DeltaBox>();
            auto watch =
                service.watch_deltas(agent, [bell, box, weak](const service::Delta& delta) {
                    if (!box->add(delta)) return;
                    bell->post([box, weak] {
                        const auto deltas = box->take();
                        if (const auto channel = weak.lock()) channel->pass_on(deltas);
                    });
                });
            bell->post([weak = std::move(weak), watch = std::move(watch)]() mutable {
                if (const auto channel = weak.lock()) channel->delta_watch_ = std::move(watch);
            });
        });
    }

    void advance(std::int64_t newest) {
        newest_ = std::max(newest_, newest);
        fill();
    }

    bool reaches(std::int64_t after) const {
        return after >= (ring_.empty() ? filled_to_ : ring_.front().seq - 1);
    }
    // Frames after `after`, which the ring still has.
    std::span<const Frame> behind(std::int64_t after) {
        if (after >= filled_to_ || ring_.empty()) return {};
        return std::span(ring_).subspan(static_cast<std::size_t>(after + 1 - ring_.front().seq));
    }

    EventHub& hub_;
    const std::string agent_;
    std::list<Subscription*> readers_;

private:
    // Many events between two iterations of the loop ring once.
    struct Rung {
        std::atomic<std::int64_t> newest{0};
        std::atomic<bool> posted{false};
    };

    static void ring(Bell& bell, const std::shared_ptr<Rung>& rung,
                     const std::weak_ptr<Channel>& weak, std::int64_t newest) {
        std::int64_t known = rung->newest.load();
        while (known < newest && !rung->newest.compare_exchange_weak(known, newest)) {
        }
        if (rung->posted.exchange(true)) return;
        bell.post([rung, weak] {
            rung->posted = false;
            if (const auto channel = weak.lock()) channel->advance(rung->newest.load());
        });
    }

    void pass_on(const std::deque<service::Delta>& deltas) {
        std::vector<FrameText> frames;
        for (const auto& delta : deltas)
            frames.push_back(std::make_shared<const std::string>(encode_delta(delta)));
        const auto self = shared_from_this();
        for (auto reader = readers_.begin(); reader != readers_.end();) {
            auto* const one = *reader++;
            if (!one->wants_deltas_) continue;
            for (const auto& frame : frames) one->add_delta(newest_, frame);
            one->wake_();
        }
    }

    void fill() {
        if (filling_ || filled_to_ >= newest_) return;
        filling_ = true;
        hub_.submit_([&service = hub_.service_, agent = agent_, after = filled_to_,
                      bell = hub_.bell_, weak = weak_from_this()] {
            auto page = read_frames(service, agent, after);
            bell->post([weak, page = std::move(page)]() mutable {
                if (const auto channel = weak.lock()) channel->append(std::move(page));
            });
        });
    }

    void append(Page page) {
        filling_ = false;
        if (page.failure || page.frames.empty()) {
            // Each reader gets the error from its own read; nothing is retried in a loop.
            ring_.clear();
            ring_bytes_ = 0;
            filled_to_ = newest_;
        }
        for (auto& frame : page.frames) {
            filled_to_ = frame.seq;
            ring_bytes_ += frame.text->size();
            ring_.push_back(std::move(frame));
        }
        trim();
        newest_ = std::max(newest_, filled_to_);
        // A reader may leave, or another join, while they are woken.
        const auto self = shared_from_this();
        for (auto reader = readers_.begin(); reader != readers_.end();) (*reader++)->wake_();
        fill();
    }

    // In blocks, so that a full ring does not move its frames for each new one.
    void trim() {
        if (ring_.size() <= kRingFramesMax && ring_bytes_ <= kRingBytesMax) return;
        std::size_t drop = 0;
        while (ring_.size() - drop > kRingFramesMax / 2 ||
               (ring_bytes_ > kRingBytesMax / 2 && drop < ring_.size())) {
            ring_bytes_ -= ring_[drop].text->size();
            ++drop;
        }
        ring_.erase(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(drop));
    }

    friend class Subscription;
    std::vector<Frame> ring_;
    std::size_t ring_bytes_{0};
    std::int64_t filled_to_;  // The last event that is, or was, in the ring.
    std::int64_t newest_;
    bool filling_{false};
    std::shared_ptr<void> watch_;
    bool watches_deltas_{false};
    std::shared_ptr<void> delta_watch_;
};

Subscription::Subscription(EventHub& hub, std::shared_ptr<Channel> channel, const Follow& follow,
                           std::function<void()> wake)
    : hub_(hub),
      channel_(std::move(channel)),
      cursor_(follow.after_seq),
      wants_deltas_(follow.deltas),
      wake_(std::move(wake)),
      self_(std::make_shared<Subscription*>(this)) {
    channel_->readers_.push_back(this);
    if (wants_deltas_) channel_->start_deltas();
}

Subscription::~Subscription() {
    *self_ = nullptr;
    channel_->readers_.remove(this);
}

std::vector<FrameText> Subscription::take(std::size_t bytes_max) {
    std::vector<FrameText> out;
    take_events(out, bytes_max);
    if (out.empty()) take_deltas(out, bytes_max);
    return out;
}

void Subscription::take_events(std::vector<FrameText>& out, std::size_t bytes_max) {
    std::size_t bytes = 0;
    while (!page_.empty() && bytes < bytes_max) {
        bytes += page_.front().text->size();
        cursor_ = page_.front().seq;
        out.push_back(std::move(page_.front().text));
        page_.pop_front();
    }
    if (!out.empty() || failure_ || reading_) return;
    if (!channel_->reaches(cursor_)) return read_page();
    for (const auto& frame : channel_->behind(cursor_)) {
        if (bytes >= bytes_max) break;
        bytes += frame.text->size();
        cursor_ = frame.seq;
        out.push_back(frame.text);
    }
}

// Those that belong after an event which has not been written yet wait for it.
void Subscription::take_deltas(std::vector<FrameText>& out, std::size_t bytes_max) {
    std::size_t bytes = 0;
    while (!deltas_.empty() && deltas_.front().after_seq <= cursor_ && bytes < bytes_max) {
        bytes += deltas_.front().text->size();
        delta_bytes_ -= deltas_.front().text->size();
        out.push_back(std::move(deltas_.front().text));
        deltas_.pop_front();
    }
}

void Subscription::add_delta(std::int64_t after_seq, const FrameText& text) {
    delta_bytes_ += text->size();
    deltas_.push_back({after_seq, text});
    while (delta_bytes_ > kDeltaBytesMax) {
        delta_bytes_ -= deltas_.front().text->size();
        deltas_.pop_front();
    }
}

void Subscription::read_page() {
    reading_ = true;
    hub_.submit_([&service = hub_.service_, agent = channel_->agent_, after = cursor_,
                  bell = hub_.bell_, self = self_] {
        auto page = read_frames(service, agent, after);
        bell->post([self, page = std::move(page)]() mutable {
            Subscription* reader = *self;
            if (!reader) return;
            reader->reading_ = false;
            if (page.frames.empty() && !page.failure)
                page.failure =
                    base::Error{base::ErrorCode::NotFound,
                                "events after the cursor are no longer kept", "cursor_not_found"};
            reader->failure_ = std::move(page.failure);
            reader->page_ = std::move(page.frames);
            reader->wake_();
        });
    });
}

EventHub::EventHub(service::Service& service, base::Loop& loop, Submit submit)
    : service_(service), submit_(std::move(submit)), bell_(std::make_shared<Bell>(loop)) {}

EventHub::~EventHub() {
    bell_->silence();
}

std::unique_ptr<Subscription> EventHub::subscribe(const Follow& follow,
                                                  std::function<void()> wake) {
    auto channel = channels_[follow.agent].lock();
    if (!channel) {
        std::erase_if(channels_, [](const auto& entry) { return entry.second.expired(); });
        channel = std::make_shared<Channel>(*this, follow.agent, follow.newest_seq);
        channels_[follow.agent] = channel;
        channel->start();
    }
    return std::unique_ptr<Subscription>(
        new Subscription(*this, std::move(channel), follow, std::move(wake)));
}

}  // namespace http_surface
