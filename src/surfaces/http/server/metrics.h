// The server's own counters, in the format of Prometheus. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "service/plans.h"

namespace http_surface {

class Metrics {
public:
    // `route` is a pattern, never a path: the number of series stays bounded.
    void answered(std::string_view route, unsigned status, std::chrono::microseconds took);

    std::atomic<std::uint64_t> connections_open{0};
    std::atomic<std::uint64_t> connections_refused{0};
    std::atomic<std::uint64_t> calls_refused{0};
    std::atomic<std::uint64_t> streams_open{0};
    std::atomic<std::uint64_t> streams_dropped{0};
    std::atomic<std::uint64_t> stream_events{0};
    std::atomic<std::uint64_t> auth_failures{0};

    // The text exposition format 0.0.4.
    std::string text() const;

private:
    static constexpr std::array<double, 8> kBucketSeconds{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5};
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, unsigned>, std::uint64_t> answered_;
    std::array<std::uint64_t, kBucketSeconds.size() + 1> took_{};
    double took_sum_{0};
};

// The same for the runtime's counters of plans.
std::string plan_text(const service::PlanTotals& totals);

}  // namespace http_surface
