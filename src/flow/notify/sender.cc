#include "flow/notify/sender.h"

#include "base/log/log.h"
#include "base/text.h"
#include "domain/events/operators.h"

namespace notify {
namespace {

using NextDue = std::optional<base::Time>;

const Send& channel_of(const Channels& channels, domain::DeliveryChannel channel) {
    switch (channel) {
        case domain::DeliveryChannel::Command:
            return channels.command;
        case domain::DeliveryChannel::Webhook:
            return channels.webhook;
        case domain::DeliveryChannel::Transport:
            return channels.transport;
    }
    return channels.command;
}

}  // namespace

Sender::Sender(events::Committer::Parts parts, Channels channels, Policy policy)
    : parts_(parts), committer_(parts), channels_(std::move(channels)), policy_(policy) {}

Sender::~Sender() {
    parts_.loop.cancel(timer_);
    parts_.loop.cancel(flush_timer_);
}

void Sender::start() {
    if (std::exchange(is_started_, true)) return;
    subscription_ = parts_.feed.subscribe([this](const events::Committed& committed) {
        if (domain::events::is<domain::events::OperatorDeliverySubmitted>(committed.event)) check();
    });
    check();
}

void Sender::flush(std::chrono::milliseconds patience, std::function<void()> done) {
    flushed_ = std::move(done);
    if (!is_started_) return at_rest();
    flush_timer_ = parts_.loop.after(patience, lifetime_.guard([this] {
        base::log_warn("{} to the operator did not arrive in time; the next process continues",
                       base::counted(static_cast<std::int64_t>(in_flight_), "notice"));
        at_rest();
    }));
    check();
}

void Sender::at_rest() {
    parts_.loop.cancel(std::exchange(flush_timer_, {}));
    if (auto done = std::exchange(flushed_, nullptr)) done();
}

// Reading first keeps an idle home free of writes.
void Sender::check() {
    if (!is_started_) return;
    if (is_checking_) {
        has_news_ = true;
        return;
    }
    is_checking_ = true;
    has_news_ = false;
    committer_.load<NextDue>(
        lifetime_, [](store::Tx& tx) { return tx.next_delivery_due(); },
        [this](base::Result<NextDue> next) {
            is_checking_ = false;
            if (!next) {
                base::log_error("deliveries to the operator could not be loaded: {}",
                                next.error().message);
                return wait_until(parts_.clock.now() + kCheckRetry);
            }
            const bool is_due = *next && **next <= parts_.clock.now();
            if (is_due && in_flight_ < kInFlightMax) return claim_due();
            if (*next && !is_due) wait_until(**next);
            if (has_news_) return check();
            if (!is_due && in_flight_ == 0) at_rest();
        });
}

void Sender::claim_due() {
    is_checking_ = true;
    const auto limit = static_cast<std::int64_t>(kInFlightMax - in_flight_);
    // On disk, and with it everything before: what the operator receives is never undone.
    committer_.commit<std::vector<Outgoing>>(
        lifetime_, {.durability = store::Durability::Disk},
        [policy = policy_, limit](events::Log& log) { return claim(log, policy, limit); },
        [this](base::Result<std::vector<Outgoing>> claimed) {
            is_checking_ = false;
            if (!claimed) {
                base::log_error("deliveries to the operator could not be claimed: {}",
                                claimed.error().message);
                return wait_until(parts_.clock.now() + kCheckRetry);
            }
            for (auto& outgoing : *claimed) send(std::move(outgoing));
            check();
        });
}

void Sender::send(Outgoing outgoing) {
    ++in_flight_;
    const auto attempted = outgoing.delivery;
    const auto& channel = channel_of(channels_, attempted.channel);
    if (!channel) return settled(attempted, Failed{attempted.route_id + " is no longer set", true});
    channel(outgoing, lifetime_.guard([this, attempted](Outcome outcome) {
        settled(attempted, std::move(outcome));
    }));
}

void Sender::settled(const domain::OperatorDelivery& attempted, Outcome outcome) {
    if (const auto* failed = std::get_if<Failed>(&outcome))
        base::log_warn("attempt {} to notify the operator by {} failed: {}", attempted.attempts,
                       attempted.route_id, failed->why);
    committer_.commit<bool>(
        lifetime_, {.durability = store::Durability::Disk, .on_fault = events::OnFault::Retry},
        [attempted, outcome = std::move(outcome),
         policy = policy_](events::Log& log) -> base::Result<bool> {
            TRY(record(log, attempted, outcome, policy));
            return true;
        },
        [this, attempted](base::Result<bool> recorded) {
            --in_flight_;
            if (!recorded)
                base::log_error("the outcome of delivery {} could not be recorded: {}",
                                attempted.delivery_intent_id, recorded.error().message);
            check();
        });
}

void Sender::wait_until(base::Time when) {
    parts_.loop.cancel(timer_);
    timer_ = parts_.loop.at(when, lifetime_.guard([this] {
        timer_ = {};
        check();
    }));
}

}  // namespace notify
