// Follows an event stream on a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "service/remote/client.h"
#include "service/service.h"

namespace service {

inline constexpr std::chrono::milliseconds kReconnectFirst = 200ms;
inline constexpr std::chrono::milliseconds kReconnectMax = 5s;

// Callbacks of the follower, on its thread. Neither may drop the token.
struct WatchCalls {
    // There are events up to this number. Also after each new connection, as events may have been
    // missed in between.
    std::function<void(std::int64_t newest_seq)> changed;
    // What the agent is doing right now; only for the events of an agent. Unset: none are sent.
    std::function<void(const Delta&)> delta{};
    // The stream broke or could not be opened; it is tried again until the token is dropped. Called
    // once for each loss.
    std::function<void(const base::Error&)> lost;
    // The stream is open, for the first time or again: what is never stored may have been missed.
    std::function<void()> connected{};
};

// What is followed.
struct Followed {
    std::function<std::string()> stream_path;  // Called before each connection.
    std::string seq_member;                    // Of each event's data.
    // The newest number once a connection is there, for streams that start at the tail.
    std::function<std::int64_t(const Client&)> newest{};
    // The stream ends with what it is about: its end is reported as a change, and an answer without
    // content ends the following. Without this an end is a loss.
    bool ends{false};
};

// Follows until the token is dropped, which waits for the thread to end.
std::shared_ptr<void> follow(const Address& address, Followed followed, WatchCalls calls);
// The same for the events of an agent.
std::shared_ptr<void> follow(const Address& address, const std::string& agent, WatchCalls calls);

// The wait before the next attempt, after one of `former`. Pure.
std::chrono::milliseconds next_reconnect(std::chrono::milliseconds former);

}  // namespace service
