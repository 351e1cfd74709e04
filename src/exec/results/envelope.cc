#include "exec/results/envelope.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/scan/secrets.h"
#include "base/text.h"

namespace results {
namespace {

constexpr std::array<std::string_view, 5> kFields{"tool_name", "status", "summary_text", "result",
                                                  "error"};

constexpr std::size_t kFieldCharsMax = 200;

// Details may be anything a tool met; everything else of an error is small by construction.
domain::ToolError bounded(domain::ToolError error) {
    if (!error.details) return error;
    const std::string text = base::json_text(*error.details);
    const std::size_t chars = base::char_count(text);
    if (chars <= kDetailsCharsMax) return error;
    json::object preview{{"omitted", true},
                         {"reason", "details were too large"},
                         {"char_count", chars},
                         {"sha256", base::sha256_hex(text)},
                         {"preview", base::first_chars(text, kDetailsCharsMax)}};
    if (const auto* field = base::find(*error.details, "field"); field && field->is_string())
        preview["field"] =
            base::ellipsize(base::string_at(*error.details, "field"), kFieldCharsMax);
    error.details = std::move(preview);
    return error;
}

// Secrets go before texts are bounded: what is made of an envelope, receipt, record and hash, then
// agrees and holds none, not even half of one.
domain::ToolError without_secrets(domain::ToolError error) {
    error.message = scan::without_secrets(std::move(error.message));
    if (error.recovery_hint) error.recovery_hint = scan::without_secrets(*error.recovery_hint);
    if (error.details) scan::remove_secrets(*error.details);
    return error;
}

// Nothing when all five fields are there, of the right type, and nothing else is.
std::optional<std::string> fault_of(const json::object& object) {
    for (const auto& member : object)
        if (std::ranges::find(kFields, std::string_view(member.key())) == kFields.end())
            return fmt::format("a tool result envelope has no field '{}'",
                               std::string_view(member.key()));
    if (object.size() != kFields.size()) return "a tool result envelope needs all its five fields";
    for (const char* text : {"tool_name", "status", "summary_text"})
        if (!object.at(text).is_string())
            return fmt::format("the {} of a tool result envelope must be a string", text);
    return std::nullopt;
}

}  // namespace

Envelope Envelope::success(std::string tool_name, const std::string& summary_text,
                           json::object result) {
    Envelope envelope;
    envelope.tool_name_ = std::move(tool_name);
    envelope.summary_text_ =
        base::ellipsize(scan::without_secrets(base::to_utf8(summary_text)), kSummaryCharsMax);
    json::value clean(std::move(result));
    scan::remove_secrets(clean);
    envelope.result_ = std::move(clean.get_object());
    return envelope;
}

Envelope Envelope::failure(std::string tool_name, domain::ToolError error) {
    Envelope envelope;
    envelope.tool_name_ = std::move(tool_name);
    error = without_secrets(std::move(error));
    envelope.summary_text_ = base::ellipsize(base::to_utf8(error.message), kSummaryCharsMax);
    envelope.error_ = bounded(std::move(error));
    return envelope;
}

base::Result<Envelope> Envelope::from_json(const json::value& value) {
    using base::ErrorCode;
    const auto* object = value.if_object();
    if (!object) return base::fail(ErrorCode::Corrupt, "a tool result envelope must be an object");
    if (const auto fault = fault_of(*object)) return base::fail(ErrorCode::Corrupt, "{}", *fault);
    const json::value& result = object->at("result");
    const json::value& error = object->at("error");
    const bool has_result = !result.is_null(), has_error = !error.is_null();
    const std::string status = base::string_at(value, "status");
    const bool consistent = (status == "success" && has_result && !has_error) ||
                            (status == "error" && has_error && !has_result);
    if (!consistent)
        return base::fail(
            ErrorCode::Corrupt,
            "a tool result envelope needs status success with a result or error with an error, "
            "got status '{}', result {}, error {}",
            status, has_result, has_error);
    if (has_result && !result.is_object())
        return base::fail(ErrorCode::Corrupt,
                          "the result of a tool result envelope must be an object");
    Envelope envelope;
    envelope.tool_name_ = base::string_at(value, "tool_name");
    envelope.summary_text_ = base::string_at(value, "summary_text");
    if (has_result) envelope.result_ = result.get_object();
    if (has_error) envelope.error_ = TRY(base::from_json<domain::ToolError>(error));
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
