// Spans for an OpenTelemetry collector: OTLP over HTTP, as JSON.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "provider/http/http_client.h"
#include "record/telemetry/spans.h"

namespace telemetry {

inline constexpr std::size_t kBatchSpansMax = 512;
inline constexpr std::size_t kWaitingSpansMax = 4096;  // Beyond these the oldest are dropped.
inline constexpr std::chrono::milliseconds kFlushInterval{2000};
inline constexpr std::chrono::milliseconds kRetryMax{60'000};
inline constexpr std::chrono::milliseconds kLastSendMax{2000};

// The body of one request to `/v1/traces`.
json::object export_request(std::span<const Span> spans, std::string_view service_name);

struct OtlpOptions {
    std::string url;  // Of the traces: https://collector.example/v1/traces
    std::vector<provider::HttpHeader> headers{};
    std::string service_name{"holon"};
    std::chrono::milliseconds flush_interval{kFlushInterval};
    provider::HttpOptions http{};  // Of the last request; the others use the client's own.
};

// Follows `feed` and sends what ends. Used from the loop's thread; the client and the feed outlive
// it.
class OtlpExporter {
public:
    OtlpExporter(OtlpOptions options, provider::HttpClient& client, events::Feed& feed);
    // Sends what is left, once, on a loop of its own, for at most kLastSendMax; what the collector
    // does not take then is lost: it is a copy, the events are the record.
    ~OtlpExporter();
    OtlpExporter(const OtlpExporter&) = delete;
    OtlpExporter& operator=(const OtlpExporter&) = delete;

    // How many spans were dropped because the collector did not take them in time.
    std::uint64_t dropped() const;

private:
    class Core;
    std::shared_ptr<Core> core_;
};

}  // namespace telemetry
