// Live events for many readers: each event is read and encoded once for all readers.
//
// An agent with readers has a channel: a ring of its newest frames, filled when the service reports
// new events. A reader behind the ring reads pages of its own, at its own pace. Nothing is polled,
// and a reader that stalls holds no more than its cursor and one page.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os/loop.h"
#include "base/result.h"
#include "service/service.h"
#include "surfaces/http/live/bell.h"
#include "surfaces/http/live/frame_stream.h"
#include "surfaces/http/server/exchange.h"

namespace http_surface {

struct Frame {
    std::int64_t seq{0};
    FrameText text;
};

// "id: 42\nevent: kind\ndata: {envelope}\n\n"
std::string encode_frame(const std::string& agent, const domain::Event& event);

inline constexpr std::size_t kRingFramesMax = 1024;
inline constexpr std::size_t kRingBytesMax = 1024 * 1024;
inline constexpr std::int64_t kPageEvents = 256;
inline constexpr std::size_t kPageBytesMax = 256 * 1024;
// What is kept of deltas for one reader, and on their way here. Beyond it the oldest are dropped.
inline constexpr std::size_t kDeltaBytesMax = 64 * 1024;

// "event: delta\ndata: {...}\n\n": no event, so it has no id to continue from.
std::string encode_delta(const service::Delta& delta);

class EventHub;
class Channel;

// One reader's cursor in the events of one agent. Lives on the hub's loop.
class Subscription final : public FrameStream {
public:
    ~Subscription() override;
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    std::vector<FrameText> take(std::size_t bytes_max) override;
    bool is_over() const override { return failure_.has_value(); }

    // Set when events can no longer be read, or those after the cursor are no longer kept.
    const std::optional<base::Error>& failure() const { return failure_; }

private:
    friend class EventHub;
    friend class Channel;
    // A delta, and the newest event before it: it is written after that one.
    struct PendingDelta {
        std::int64_t after_seq{0};
        FrameText text;
    };

    Subscription(EventHub& hub, std::shared_ptr<Channel> channel, const Follow& follow,
                 std::function<void()> wake);
    void read_page();
    void take_events(std::vector<FrameText>& out, std::size_t bytes_max);
    void take_deltas(std::vector<FrameText>& out, std::size_t bytes_max);
    void add_delta(std::int64_t after_seq, const FrameText& text);

    EventHub& hub_;
    std::shared_ptr<Channel> channel_;
    std::int64_t cursor_;
    const bool wants_deltas_;
    std::function<void()> wake_;
    std::deque<Frame> page_;
    std::deque<PendingDelta> deltas_;
    std::size_t delta_bytes_{0};
    bool reading_{false};
    std::optional<base::Error> failure_;
    std::shared_ptr<Subscription*> self_;  // Emptied when this goes; page reads may come later.
};

// All members on the loop's thread. `submit` runs a task on a thread that may block.
class EventHub {
public:
    using Submit = std::function<void(base::Job)>;
    EventHub(service::Service& service, base::Loop& loop, Submit submit);
    ~EventHub();  // All subscriptions are gone by then.

    // Frames after `follow.after_seq`, which the caller has found to be a valid cursor. `wake` must
    // return at once.
    std::unique_ptr<Subscription> subscribe(const Follow& follow, std::function<void()> wake);
    std::size_t channel_count() const { return channels_.size(); }

private:
    friend class Subscription;
    friend class Channel;
    service::Service& service_;
    Submit submit_;
    std::shared_ptr<Bell> bell_;
    std::map<std::string, std::weak_ptr<Channel>, std::less<>> channels_;
};

}  // namespace http_surface
