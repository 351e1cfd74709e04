#include "provider/wire/openai_error.h"

#include <array>
#include <optional>
#include <span>

#include "provider/classify.h"
#include "provider/wire/received_json.h"

namespace provider {
namespace {

struct NamedKind {
    std::string_view name;
    FailureKind kind;
};

constexpr std::array<NamedKind, 14> kCodes{{
    {"rate_limit_exceeded", FailureKind::RateLimited},
    {"rate_limit_exceeded_error", FailureKind::RateLimited},
    {"insufficient_quota", FailureKind::AuthError},
    {"quota_exceeded", FailureKind::AuthError},
    {"invalid_api_key", FailureKind::AuthError},
    {"invalid_authentication", FailureKind::AuthError},
    {"context_length_exceeded", FailureKind::ContextLengthExceeded},
    {"max_tokens", FailureKind::ContractError},
    {"invalid_request_error", FailureKind::ContractError},
    {"invalid_request", FailureKind::ContractError},
    {"server_error", FailureKind::ServerError},
    {"service_unavailable", FailureKind::ServerError},
    {"server_is_overloaded", FailureKind::ServerError},
    {"slow_down", FailureKind::ServerError},
}};

constexpr std::array<NamedKind, 5> kTypes{{
    {"rate_limit_error", FailureKind::RateLimited},
    {"invalid_request_error", FailureKind::ContractError},
    {"authentication_error", FailureKind::AuthError},
    {"server_error", FailureKind::ServerError},
    {"context_length_exceeded", FailureKind::ContextLengthExceeded},
}};

std::optional<FailureKind> kind_named(std::span<const NamedKind> names, std::string_view name) {
    for (const auto& entry : names)
        if (entry.name == name) return entry.kind;
    return std::nullopt;
}

bool is_success(std::int64_t status) {
    return status >= 200 && status <= 299;
}

}  // namespace

FailureKind kind_without_error(std::int64_t status) {
    return is_success(status) ? FailureKind::ContractError : kind_of_status(status);
}

FailureKind kind_of_openai_error(std::int64_t status, const json::value& error) {
    const std::string code = base::string_at(error, "code");
    const std::string type = base::string_at(error, "type");
    const std::string text = error_text(error);
    const auto by_code = kind_named(kCodes, code);
    const auto by_type = kind_named(kTypes, type);
    if (by_code == FailureKind::ContextLengthExceeded ||
        by_type == FailureKind::ContextLengthExceeded || text.contains("context_length_exceeded") ||
        (status == 400 && text.contains("maximum context length")))
        return FailureKind::ContextLengthExceeded;
    if (status >= 500) return kind_of_status(status);
    if (status == 429)
        return by_code == FailureKind::AuthError ? FailureKind::AuthError
                                                 : FailureKind::RateLimited;
    if (by_code) return *by_code;
    if (by_type) return *by_type;
    // Gateways answer 200 and put the true status into the code.
    if (const auto number = base::int_at(error, "code"); is_success(status) && number >= 400)
        return kind_of_status(number);
    return kind_without_error(status);
}

}  // namespace provider
