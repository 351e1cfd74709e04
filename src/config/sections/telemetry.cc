#include "config/sections/telemetry.h"

#include "base/text.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;

std::string otel_value(const std::map<std::string, std::string>& environment,
                       const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : std::string(base::trim(found->second));
}

bool is_url(std::string_view text) {
    return (text.starts_with("http://") || text.starts_with("https://")) &&
           base::printable(text) == text && !text.contains(' ');
}

base::Result<std::vector<std::pair<std::string, std::string>>> headers_of(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> headers;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view one = base::trim(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (one.empty()) continue;
        const std::size_t equals = one.find('=');
        if (equals == one.npos || equals == 0 || base::printable(one) != one)
            return fail(ErrorCode::InvalidInput,
                        "OTEL_EXPORTER_OTLP_HEADERS is a list of name=value, separated by commas");
        headers.emplace_back(base::trim(one.substr(0, equals)), base::trim(one.substr(equals + 1)));
    }
    return headers;
}

}  // namespace

base::Result<Telemetry> load_telemetry(const std::map<std::string, std::string>& environment) {
    Telemetry telemetry;
    if (otel_value(environment, "OTEL_SDK_DISABLED") == "true") return telemetry;
    std::string url = otel_value(environment, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    const std::string base_url = otel_value(environment, "OTEL_EXPORTER_OTLP_ENDPOINT");
    if (url.empty() && !base_url.empty())
        url = base_url + (base_url.ends_with('/') ? "v1/traces" : "/v1/traces");
    if (url.empty()) return telemetry;
    if (!is_url(url))
        return fail(ErrorCode::InvalidInput,
                    "the OpenTelemetry endpoint '{}' is not an http or https address",
                    base::printable(url));
    const std::string protocol = otel_value(environment, "OTEL_EXPORTER_OTLP_PROTOCOL");
    if (!protocol.empty() && protocol != "http/json")
        return fail(ErrorCode::InvalidInput,
                    "OTEL_EXPORTER_OTLP_PROTOCOL is '{}'; holon speaks http/json only",
                    base::printable(protocol));
    telemetry.traces_url = std::move(url);
    telemetry.headers = TRY(headers_of(otel_value(environment, "OTEL_EXPORTER_OTLP_HEADERS")));
    const std::string name = otel_value(environment, "OTEL_SERVICE_NAME");
    if (!name.empty()) telemetry.service_name = name;
    return telemetry;
}

}  // namespace config
