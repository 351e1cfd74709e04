#include "service/local/webhooks/rate.h"

#include <algorithm>
#include <cmath>

namespace service {

std::optional<std::chrono::seconds> RateLimit::take(const std::string& name,
                                                    std::int64_t per_minute, base::Time now) {
    const std::scoped_lock lock(mutex_);
    const auto most = static_cast<double>(per_minute);
    const double per_second = most / 60.0;
    const auto [entry, is_new] = buckets_.try_emplace(name, Bucket{most, now});
    Bucket& bucket = entry->second;
    const std::chrono::duration<double> passed = now - bucket.filled_at;
    // A clock that was set back refills nothing.
    bucket.left = std::min(most, bucket.left + std::max(0.0, passed.count()) * per_second);
    bucket.filled_at = now;
    if (bucket.left >= 1.0) {
        bucket.left -= 1.0;
        return std::nullopt;
    }
    return std::chrono::seconds(
        static_cast<std::int64_t>(std::ceil((1.0 - bucket.left) / per_second)));
}

void RateLimit::forget(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    buckets_.erase(name);
}

}  // namespace service
