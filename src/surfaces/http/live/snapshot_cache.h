// Answers that are valid until an agent's next event, made once for all requests.
//
// An answer is never older than the last write through this server, the last event that the service
// reported, and kSnapshotAge, which bounds changes without an event (another process changes the
// configuration, say).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "service/service.h"
#include "surfaces/http/live/bell.h"

namespace http_surface {

inline constexpr std::chrono::milliseconds kSnapshotAge{100};
inline constexpr std::size_t kSnapshotsMax = 256;  // Agents; answers of others are made each time.

// All members on the loop's thread. `submit` runs a task on a thread that may block.
class SnapshotCache {
public:
    using Submit = std::function<void(base::Job)>;
    SnapshotCache(service::Service& service, base::Loop& loop, Submit submit);
    ~SnapshotCache();

    // The body for `agent`, or null when it has to be made.
    std::shared_ptr<const std::string> find(const std::string& agent) const;

    // Take it before making a body and give it back with the body: if an event came in between, the
    // body is not kept.
    std::uint64_t generation(const std::string& agent) const;
    void put(const std::string& agent, std::uint64_t generation, const std::string& body);

    void forget_all();

private:
    struct Entry {
        std::uint64_t generation{1};
        std::shared_ptr<void> watch;  // Nothing is kept before the service reports events.
        std::shared_ptr<const std::string> body;
        std::chrono::steady_clock::time_point made;
    };
    void start_watching(const std::string& agent);
    void forget(const std::string& agent);

    service::Service& service_;
    Submit submit_;
    std::shared_ptr<Bell> bell_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace http_surface
