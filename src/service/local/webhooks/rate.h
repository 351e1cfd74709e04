// How many deliveries a webhook accepts in a minute.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"

namespace service {

// A bucket for each name: it holds one minute's allowance and is refilled evenly. Kept in memory
// only: after a restart every bucket is full. Any thread may call.
class RateLimit {
public:
    // Takes one from the bucket; else how long until there is one. A name's allowance may change
    // from call to call.
    std::optional<std::chrono::seconds> take(const std::string& name, std::int64_t per_minute,
                                             base::Time now);
    // Forgets the name.
    void forget(const std::string& name);

private:
    struct Bucket {
        double left{0};
        base::Time filled_at{};
    };
    std::mutex mutex_;
    std::map<std::string, Bucket> buckets_;
};

}  // namespace service
