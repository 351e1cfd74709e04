#include "provider/wire/openai_error.h"

#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "provider/classify.h"
#include "provider/wire/overflow.h"
#include "provider/wire/received_json.h"

namespace provider {
namespace {

struct NamedKind {
    std::string_view name;
    FailureKind kind;
};

constexpr std::array<NamedKind, 16> kCodes{{
    {"rate_limit_exceeded", FailureKind::RateLimited},
    {"rate_limit_exceeded_error", FailureKind::RateLimited},
    {"insufficient_quota", FailureKind::AuthError},
    {"quota_exceeded", FailureKind::AuthError},
    {"invalid_api_key", FailureKind::AuthError},
    {"invalid_authentication", FailureKind::AuthError},
    {"model_not_found", FailureKind::ContractError},
    {"max_tokens", FailureKind::ContractError},
    {"invalid_request_error", FailureKind::ContractError},
    {"invalid_request", FailureKind::ContractError},
    {"invalid_prompt", FailureKind::ContractError},
    {"server_error", FailureKind::ServerError},
    {"service_unavailable", FailureKind::ServerError},
    {"server_is_overloaded", FailureKind::ServerError},
    {"slow_down", FailureKind::ServerError},
    {"content_filter", FailureKind::ContractError},
}};

constexpr std::array<NamedKind, 8> kTypes{{
    {"rate_limit_error", FailureKind::RateLimited},
    {"invalid_request_error", FailureKind::ContractError},
    {"not_found_error", FailureKind::ContractError},
    {"BadRequestError", FailureKind::ContractError},
    {"NotFoundError", FailureKind::ContractError},
    {"authentication_error", FailureKind::AuthError},
    {"permission_error", FailureKind::AuthError},
    {"server_error", FailureKind::ServerError},
}};

std::optional<FailureKind> kind_named(std::span<const NamedKind> names, std::string_view name) {
    for (const auto& entry : names)
        if (entry.name == name) return entry.kind;
    return std::nullopt;
}

bool is_success(std::int64_t status) {
    return status >= 200 && status <= 299;
}

std::int64_t numeric_code(const json::value& error, std::string_view text) {
    std::int64_t number = base::int_at(error, "code");
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

FailureKind kind_without_error(std::int64_t status) {
    return is_success(status) ? FailureKind::ServerError : kind_of_status(status);
}

FailureKind kind_of_openai_error(std::int64_t status, const json::value& error) {
    const std::string code = base::string_at(error, "code");
    const std::string type = base::string_at(error, "type");
    if (says_prompt_too_long(code) || says_prompt_too_long(type) ||
        says_prompt_too_long(error_text(error)))
        return FailureKind::ContextLengthExceeded;
    const auto by_status = kind_without_error(status);
    if (is_transient_status(status) && status != 429) return by_status;
    if (by_status == FailureKind::AuthError) return by_status;
    const auto by_code = kind_named(kCodes, code);
    if (status == 429)
        return by_code == FailureKind::AuthError ? FailureKind::AuthError
                                                 : FailureKind::RateLimited;
    if (by_code) return *by_code;
    if (const auto by_type = kind_named(kTypes, type)) return *by_type;
    if (!is_success(status)) return by_status;
    // Gateways answer 200 and put the true status into the code, as a number or as its text. An
    // answer that breaks off without a reason need not do so again.
    const std::int64_t number = numeric_code(error, code);
    return number >= 400 ? kind_of_status(number) : FailureKind::ServerError;
}

}  // namespace provider
