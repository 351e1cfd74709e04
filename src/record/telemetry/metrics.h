// Counters of the runtime, for `/metrics`.
#pragma once

#include <memory>
#include <string>

#include "record/events/events.h"

namespace telemetry {

// Follows `feed`, on the loop, which outlives it. Counts what this process saw; nothing is stored.
// Labels have few values by construction: tools that no registry has, and models beyond a bound,
// count as "(other)"; no label is an agent.
class Metrics {
public:
    explicit Metrics(events::Feed& feed);
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    // The Prometheus text format. Any thread may call.
    std::string text() const;
    // Lines for values that the caller read just now: the name of each, and its help.
    struct Gauge {
        std::string name;
        std::string help;
        double value{0};
    };
    static std::string text(const std::vector<Gauge>& gauges);

private:
    class Series;
    std::unique_ptr<Series> series_;
    std::shared_ptr<void> subscription_;
};

}  // namespace telemetry
