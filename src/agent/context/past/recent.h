// The pasts of the agents that ran last: their next turn reads only what was said since. Copies of
// what the store has, so they may go at any time.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <optional>

#include "agent/context/past/past.h"

namespace context {

// What all of them together may take, and a piece in addition to its text; estimates.
inline constexpr std::int64_t kRecentBytesMax = 8 * 1024 * 1024;
inline constexpr std::int64_t kPieceBytes = 1024;

// Any thread may call.
class RecentPasts {
public:
    // What was kept last. load_past() checks whether it still holds.
    std::optional<Past> find(const domain::AgentId& agent);
    // To be called with what a transaction has read that saw committed data alone. The agents that
    // ran longest ago make room.
    void keep(const domain::AgentId& agent, const Past& past);
    void forget_all();

private:
    struct Kept {
        domain::AgentId agent;
        Past past;
        std::int64_t bytes{0};
    };
    using Order = std::list<Kept>;
    void drop(Order::iterator kept);

    std::mutex mutex_;
    Order order_;  // The newest first.
    std::map<domain::AgentId, Order::iterator> places_;
    std::int64_t bytes_{0};
};

}  // namespace context
