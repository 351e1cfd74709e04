// Follows an agent's event stream on a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "service/remote/client.h"

namespace service {

inline constexpr std::chrono::milliseconds kReconnectFirst = 200ms;
inline constexpr std::chrono::milliseconds kReconnectMax = 5s;

// What the follower tells, on its thread. Neither may drop the token from within.
struct WatchCalls {
    // There are events up to this number. Also after each connection that came about, as events
    // may have been missed in between.
    std::function<void(std::int64_t newest_seq)> changed;
    // The stream broke or could not be opened; it is tried again until the token is dropped. Told
    // once for each loss.
    std::function<void(const base::Error&)> lost;
};

// Follows until the token is dropped, which waits for the thread to end.
std::shared_ptr<void> follow(const Address& address, const std::string& agent, WatchCalls calls);

// The wait before the next attempt, after one of `former`. Pure.
std::chrono::milliseconds next_reconnect(std::chrono::milliseconds former);

}  // namespace service
