#include "exec/results/envelope.h"

#include <array>

#include "base/text.h"

namespace results {

Envelope Envelope::success(std::string tool_name, std::string summary_text, json::object result) {
    Envelope envelope;
    envelope.tool_name_ = std::move(tool_name);
    envelope.summary_text_ = base::ellipsize(base::to_utf8(summary_text), kSummaryCharsMax);
    envelope.result_ = std::move(result);
    return envelope;
}

Envelope Envelope::failure(std::string tool_name, domain::ToolError error) {
    Envelope envelope;
    envelope.tool_name_ = std::move(tool_name);
    envelope.summary_text_ = base::ellipsize(base::to_utf8(error.message), kSummaryCharsMax);
    envelope.error_ = std::move(error);
    return envelope;
}

base::Result<Envelope> Envelope::from_json(const json::value& value) {
    using base::ErrorCode;
    const auto* object = value.if_object();
    if (!object) return base::fail(ErrorCode::Corrupt, "a tool result envelope must be an object");
    constexpr std::array<std::string_view, 5> kFields{"tool_name", "status", "summary_text",
                                                      "result", "error"};
    for (const auto& member : *object)
        if (std::ranges::find(kFields, std::string_view(member.key())) == kFields.end())
            return base::fail(ErrorCode::Corrupt, "a tool result envelope has no field '{}'",
                              std::string_view(member.key()));
    const auto* result = base::find(value, "result");
    const auto* error = base::find(value, "error");
    const bool has_result = result && !result->is_null(), has_error = error && !error->is_null();
    const std::string status = base::string_at(value, "status");
    const bool consistent = (status == "success" && has_result && !has_error) ||
                            (status == "error" && has_error && !has_result);
    if (!consistent)
        return base::fail(
            ErrorCode::Corrupt,
            "a tool result envelope needs status success with a result or error with an error, "
            "got status '{}', result {}, error {}",
            status, has_result, has_error);
    if (has_result && !result->is_object())
        return base::fail(ErrorCode::Corrupt,
                          "the result of a tool result envelope must be an object");
    Envelope envelope;
    envelope.tool_name_ = base::string_at(value, "tool_name");
    envelope.summary_text_ = base::string_at(value, "summary_text");
    if (has_result) envelope.result_ = result->get_object();
    if (has_error) envelope.error_ = TRY(base::from_json<domain::ToolError>(*error));
    return envelope;
}

json::object Envelope::to_json() const {
    return {{"tool_name", tool_name_},
            {"status", ok() ? "success" : "error"},
            {"summary_text", summary_text_},
            {"result", ok() ? json::value(*result_) : json::value(nullptr)},
            {"error", ok() ? json::value(nullptr) : base::to_json(*error_)}};
}

}  // namespace results
