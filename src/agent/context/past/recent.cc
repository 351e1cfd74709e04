#include "agent/context/past/recent.h"

namespace context {
namespace {

constexpr std::int64_t kTokenBytes = 4;

}  // namespace

std::optional<Past> RecentPasts::find(const domain::AgentId& agent) {
    const std::scoped_lock lock(mutex_);
    const auto found = places_.find(agent);
    if (found == places_.end()) return std::nullopt;
    return found->second->past;
}

void RecentPasts::keep(const domain::AgentId& agent, const Past& past) {
    const bool is_usable =
        !past.is_cut && !past.pieces.empty() && past.pieces.back()->seq == past.head;
    const std::scoped_lock lock(mutex_);
    if (const auto found = places_.find(agent); found != places_.end()) drop(found->second);
    const std::int64_t bytes = past.tokens * kTokenBytes + std::ssize(past.pieces) * kPieceBytes;
    if (!is_usable || bytes > kRecentBytesMax) return;
    order_.push_front({agent, past, bytes});
    places_[agent] = order_.begin();
    bytes_ += bytes;
    while (bytes_ > kRecentBytesMax) drop(std::prev(order_.end()));
}

void RecentPasts::drop(Order::iterator kept) {
    bytes_ -= kept->bytes;
    places_.erase(kept->agent);
    order_.erase(kept);
}

void RecentPasts::forget_all() {
    const std::scoped_lock lock(mutex_);
    places_.clear();
    order_.clear();
    bytes_ = 0;
}

}  // namespace context
