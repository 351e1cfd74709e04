// Follows the events and deltas of one agent on a thread of its own, also over a restart of the
// daemon.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "service/service.h"
#include "surfaces/tui/screen/tty.h"

namespace tui {

inline constexpr std::int64_t kEventPage = 256;
inline constexpr std::size_t kEventsHeldMax = 1024;        // The follower waits beyond.
inline constexpr std::size_t kDeltaBytesMax = 256 * 1024;  // Deltas beyond are lost.
inline constexpr std::chrono::milliseconds kRetryFirst{200};
inline constexpr std::chrono::milliseconds kRetryMax{5000};

// What has come since the last look.
struct News {
    std::vector<domain::Event> events{};
    std::vector<service::Delta> deltas{};
    bool is_connected{true};
    std::string reason{};  // Why it is not connected, and when it is tried again.
    std::optional<base::Time> retry_at{};
    // The agent is gone, or events are missing: the follower has ended, and the agent must be
    // loaded again.
    std::optional<base::Error> ended{};
};

class Follower {
public:
    // Rings `wake` whenever there is news. Both references outlive it.
    Follower(service::Service& service, const Wake& wake, std::string agent,
             std::int64_t after_seq);
    // Waits for a call that is under way.
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    News take();
    // The stream of events broke: finds out whether the runtime still answers.
    void lost(const base::Error& error);

private:
    struct Shared;

    void run(const std::stop_token& stop);
    void report_loss(const base::Error& error, std::chrono::milliseconds wait);

    service::Service& service_;
    const std::string agent_;
    std::int64_t after_seq_;
    std::shared_ptr<Shared> shared_;  // Callbacks of the service may outlive the follower.
    std::jthread thread_;
};

}  // namespace tui
