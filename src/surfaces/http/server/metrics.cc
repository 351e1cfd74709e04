#include "surfaces/http/server/metrics.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace http_surface {
namespace {

void series(std::string& out, std::string_view name, std::string_view type, std::string_view help,
            std::uint64_t value) {
    fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type,
                   help, value);
}

}  // namespace

void Metrics::answered(std::string_view route, unsigned status, std::chrono::microseconds took) {
    const double seconds = std::chrono::duration<double>(took).count();
    const auto bucket = std::ranges::lower_bound(kBucketSeconds, seconds) - kBucketSeconds.begin();
    const std::lock_guard lock(mutex_);
    ++answered_[{std::string(route), status}];
    ++took_[static_cast<std::size_t>(bucket)];
    took_sum_ += seconds;
}

std::string Metrics::text() const {
    std::string out;
    series(out, "holon_http_connections_open", "gauge", "Open connections.", connections_open);
    series(out, "holon_http_connections_refused_total", "counter",
           "Connections over a bound, closed at once.", connections_refused);
    series(out, "holon_http_calls_refused_total", "counter",
           "Requests answered 503 because too many were waiting.", calls_refused);
    series(out, "holon_http_streams_open", "gauge", "Event streams being followed.", streams_open);
    series(out, "holon_http_streams_dropped_total", "counter",
           "Event streams ended because the client did not read.", streams_dropped);
    series(out, "holon_http_stream_events_total", "counter", "Events written to streams.",
           stream_events);
    series(out, "holon_http_auth_failures_total", "counter", "Requests with a wrong token.",
           auth_failures);
    const std::lock_guard lock(mutex_);
    auto end = std::back_inserter(out);
    fmt::format_to(end,
                   "# HELP holon_http_requests_total Requests answered.\n"
                   "# TYPE holon_http_requests_total counter\n");
    for (const auto& [key, count] : answered_)
        fmt::format_to(end, "holon_http_requests_total{{route=\"{}\",status=\"{}\"}} {}\n",
                       key.first, key.second, count);
    fmt::format_to(end,
                   "# HELP holon_http_request_seconds Time from head to answer.\n"
                   "# TYPE holon_http_request_seconds histogram\n");
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kBucketSeconds.size(); ++i) {
        below += took_[i];
        fmt::format_to(end, "holon_http_request_seconds_bucket{{le=\"{}\"}} {}\n",
                       kBucketSeconds[i], below);
    }
    below += took_.back();
    fmt::format_to(end,
                   "holon_http_request_seconds_bucket{{le=\"+Inf\"}} {0}\n"
                   "holon_http_request_seconds_sum {1}\nholon_http_request_seconds_count {0}\n",
                   below, took_sum_);
    return out;
}

std::string plan_text(const service::PlanTotals& totals) {
    const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    std::string out;
    series(out, "holon_plan_runs_open", "gauge", "Plan runs that this process executes.",
           number(totals.runs_open));
    series(out, "holon_plan_runs_ended_total", "counter", "Plan runs that ended here.",
           number(totals.runs_ended));
    series(out, "holon_plan_calls_ended_total", "counter", "Calls of plan steps that ended here.",
           number(totals.calls_ended));
    return out;
}

}  // namespace http_surface
