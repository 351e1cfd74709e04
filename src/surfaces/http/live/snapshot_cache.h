// Answers that stay true until an agent's next event, made once and given to all who ask.
//
// What is given is never older than the last write through this server, than the last event that
// the service has told of, and than kSnapshotAge, which bounds what no event tells of (another
// process changing the configuration, say).
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
inline constexpr std::size_t kSnapshotsMax = 256;  // Agents; others are asked for each time.

// All members on the loop's thread. `submit` runs a task on a thread that may block.
class SnapshotCache {
public:
    using Submit = std::function<void(base::Job)>;
    SnapshotCache(service::Service& service, base::Loop& loop, Submit submit);
    ~SnapshotCache();

    // The body for `agent`, or null when it has to be made.
    std::shared_ptr<const std::string> find(const std::string& agent) const;

    // To be taken before a body is made and given back with it: if something happened between, the
    // body is not kept.
    std::uint64_t generation(const std::string& agent) const;
    void put(const std::string& agent, std::uint64_t generation, const std::string& body);

    void forget_all();

private:
    struct Entry {
        std::uint64_t generation{1};
        std::shared_ptr<void> watch;  // Nothing is kept before the service tells of events.
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
