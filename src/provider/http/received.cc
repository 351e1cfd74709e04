#include "provider/http/received.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "provider/http/retry_after.h"
#include "provider/wire/received_json.h"

namespace provider {
namespace {

constexpr std::size_t kExcerptCharsMax = 300;
constexpr std::size_t kIdHexDigits = 12;
constexpr std::size_t kUnreadableCharsMax = 2000;  // Of arguments that are no JSON.
constexpr std::int64_t kTokensMax = 1'000'000'000'000;
constexpr std::string_view kHidden = "[redacted]";
constexpr std::size_t kSecretCharsMin = 4;

std::string content_type_of(const HttpResponse& response) {
    const auto* type = find_header(response.headers, "content-type");
    return type ? excerpt(*type) : "missing";
}

std::string said_by(const HttpResponse& response, const json::value* error) {
    return excerpt(error ? error_text(*error) : response.body);
}

}  // namespace

bool is_success(std::int64_t status) {
    return status >= 200 && status <= 299;
}

std::string excerpt(std::string_view text) {
    const std::string clean = base::to_utf8(text.substr(0, 16 * kExcerptCharsMax));
    return base::printable(base::ellipsize(base::collapse_whitespace(clean), kExcerptCharsMax));
}

Failure failure_at(std::string_view stage, FailureKind kind, std::int64_t status,
                   std::string message) {
    return {.kind = kind,
            .message = std::move(message),
            .status = status,
            .diagnostics =
                domain::TransportDiagnostics{.stage = std::string(stage),
                                             .status = status,
                                             .reqwest = domain::TransportFlags{.status = status}}};
}

Failure status_failure(const HttpResponse& response, FailureKind kind, const json::value* error,
                       base::Time now) {
    const std::int64_t status = response.status;
    const bool is_redirect = status >= 300 && status <= 399;
    const std::string said = is_redirect ? "the endpoint redirects, which is not followed; set the "
                                           "base URL to its new address"
                                         : said_by(response, error);
    Failure failure =
        failure_at("response_status", kind, status,
                   fmt::format("HTTP {}{}{}", status, said.empty() ? "" : ": ", said));
    failure.diagnostics->reqwest->is_redirect = is_redirect;
    if (const auto* wait = find_header(response.headers, "retry-after"))
        failure.retry_after = parse_retry_after(*wait, now);
    return failure;
}

Failure unreadable(std::string_view stage, std::int64_t status, std::string message) {
    Failure failure = failure_at(stage, FailureKind::InvalidResponse, status, std::move(message));
    failure.diagnostics->reqwest->is_decode = true;
    return failure;
}

std::string not_json_message(const HttpResponse& response) {
    return fmt::format("the response is not valid JSON (content type {})",
                       content_type_of(response));
}

std::string not_events_message(const HttpResponse& head) {
    return fmt::format("the response is not an event stream (content type {})",
                       content_type_of(head));
}

bool hide(std::string& text, std::string_view secret) {
    if (secret.size() < kSecretCharsMin) return false;
    bool found = false;
    for (std::size_t at = text.find(secret); at != text.npos;
         at = text.find(secret, at + kHidden.size())) {
        text.replace(at, secret.size(), kHidden);
        found = true;
    }
    return found;
}

std::int64_t tokens_at(const json::value& usage, std::string_view name) {
    return std::clamp<std::int64_t>(base::int_at(usage, name), 0, kTokensMax);
}

domain::CacheUsage cache_usage_of(std::int64_t input, std::int64_t read, std::int64_t created,
                                  std::int64_t reasoning) {
    return {.read_input_tokens = read,
            .creation_input_tokens = created,
            .uncached_input_tokens = std::max<std::int64_t>(0, input - read - created),
            .reasoning_output_tokens = reasoning};
}

std::string CallIds::take(std::string id) {
    ++count_;
    if (!id.empty() && taken_.insert(id).second) return id;
    id = fmt::format("call_{}_{}", base::sha256_hex(seed_).substr(0, kIdHexDigits), count_);
    taken_.insert(id);
    return id;
}

json::value read_arguments(const json::value* arguments) {
    if (!arguments || arguments->is_null()) return json::object();
    if (!arguments->is_string()) return *arguments;
    const std::string_view text = arguments->get_string();
    if (base::trim(text).empty()) return json::object();
    if (auto parsed = parse_received_json(text)) return std::move(*parsed);
    const std::string shown = base::ellipsize(base::to_utf8(text), kUnreadableCharsMax);
    return json::string(shown);
}

}  // namespace provider
