// Sends what is to reach the operator: each delivery is claimed in the store, sent by its channel,
// and settled, again and again until it has arrived or had all its attempts.
//
// A delivery is sent at least once. A process that dies between the attempt and its record leaves
// a claim; when that is over, the next process repeats the delivery, with the same id and bytes.
#pragma once

#include <functional>
#include <memory>

#include "base/os/lifetime.h"
#include "flow/notify/notify.h"
#include "record/events/committer.h"

namespace notify {

inline constexpr std::size_t kInFlightMax = 8;
// When the store could not be read.
inline constexpr std::chrono::milliseconds kCheckRetry{10'000};

// Makes one attempt and reports its outcome once, on the loop. It bounds the time itself, by less
// than the lease of the policy.
using Send = std::function<void(const Outgoing& outgoing, std::move_only_function<void(Outcome)>)>;

// A channel that is not set fails its deliveries for good: the operator has removed it.
struct Channels {
    Send command{};
    Send webhook{};
    Send transport{};
};

// Used on the loop's thread only.
class Sender {
public:
    Sender(events::Committer::Parts parts, Channels channels, Policy policy = {});
    ~Sender();
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    // Sends what is due, and from now on what becomes due. Nothing is sent before.
    void start();
    // Calls `done` once, when no attempt is under way and nothing is due, or after `patience`.
    void flush(std::chrono::milliseconds patience, std::function<void()> done);

private:
    void check();
    void claim_due();
    void send(Outgoing outgoing);
    void settled(const domain::OperatorDelivery& attempted, Outcome outcome);
    void wait_until(base::Time when);
    void at_rest();

    events::Committer::Parts parts_;
    events::Committer committer_;
    const Channels channels_;
    const Policy policy_;
    std::shared_ptr<void> subscription_;
    base::Loop::TimerHandle timer_{};
    base::Loop::TimerHandle flush_timer_{};
    std::function<void()> flushed_;
    std::size_t in_flight_{0};
    bool is_started_{false};
    bool is_checking_{false};
    bool has_news_{false};  // While a check was under way.
    base::Lifetime lifetime_;
};

}  // namespace notify
