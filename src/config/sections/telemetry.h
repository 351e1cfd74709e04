// Where traces go; from the environment only, by the names that OpenTelemetry gives.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace config {

struct Telemetry {
    std::string traces_url{};                                    // Empty: none are sent.
    std::vector<std::pair<std::string, std::string>> headers{};  // Their values are secrets.
    std::string service_name{"holon"};
};

// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT (a base; /v1/traces is added),
// OTEL_EXPORTER_OTLP_HEADERS (name=value,…), OTEL_SERVICE_NAME, OTEL_SDK_DISABLED. Another protocol
// than http/json in OTEL_EXPORTER_OTLP_PROTOCOL is InvalidInput only when an endpoint is set.
base::Result<Telemetry> load_telemetry(const std::map<std::string, std::string>& environment);

}  // namespace config
