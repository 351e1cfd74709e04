#include "surfaces/http/server/errors.h"

#include "base/text.h"
#include "service/error_code.h"

namespace http_surface {
namespace {

Response error_body(unsigned status, std::string_view code, std::string_view message,
                    const json::object& details) {
    json::object body{{"ok", false}, {"error", base::to_utf8(message)}};
    if (!code.empty()) body["code"] = code;
    for (const auto& member : details)
        if (!body.contains(member.key())) body[member.key()] = member.value();
    return json_response(body, status);
}

// Kinds whose status differs from that of their code.
constexpr auto kByKind = std::to_array<std::pair<std::string_view, unsigned>>({
    {"unsupported_media_type", 415},
    {"invalid_body", 422},
    {"not_supported", 501},
    {"payload_too_large", 413},
    {"rate_limited", 429},
    {"remote_skill_install_failed", 502},
});

}  // namespace

unsigned status_of(const base::Error& error) {
    for (const auto& [kind, status] : kByKind)
        if (kind == error.kind) return status;
    switch (error.code) {
        case base::ErrorCode::InvalidInput:
            return 400;
        case base::ErrorCode::Refused:
            return 403;
        case base::ErrorCode::NotFound:
            return 404;
        case base::ErrorCode::Conflict:
            return 409;
        case base::ErrorCode::Unavailable:
            return 503;
        case base::ErrorCode::Io:
        case base::ErrorCode::Corrupt:
        case base::ErrorCode::Internal:
            return 500;
    }
    return 500;
}

Response json_response(const json::value& body, unsigned status) {
    return {.status = status, .body = base::json_text(body)};
}

Response error_response(const base::Error& error) {
    auto response =
        error_body(status_of(error), service::code_of(error), error.message, error.details);
    if (error.kind == "overloaded") response.headers.emplace_back("Retry-After", "1");
    if (error.kind == "rate_limited")
        response.headers.emplace_back("Retry-After",
                                      std::to_string(base::int_at(error.details, "retry_after_s")));
    return response;
}

Response refusal(unsigned status, std::string_view code, std::string_view message) {
    return error_body(status, code, message, {});
}

}  // namespace http_surface
