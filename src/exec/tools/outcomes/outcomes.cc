#include "exec/tools/outcomes/outcomes.h"

#include "base/text.h"
#include "exec/tools/outcomes/error_kinds.h"

namespace tools {
namespace {

constexpr std::size_t kUserMessageCharsMax = 200;
constexpr std::size_t kToolNameCharsMax = 60;

std::string_view error_code(const domain::ToolError& error, domain::ResultStatus status) {
    if (status == domain::ResultStatus::Timeout) return text_of(ResultCode::Timeout);
    if (status == domain::ResultStatus::Cancelled) return text_of(ResultCode::Cancelled);
    // A call that has output and failed all the same has no kind.
    return text_of(code_of(error.kind).value_or(ResultCode::InternalError));
}

// What to do next travels with the details: an envelope of the plan surface has no field for it.
std::optional<json::value> details_of(const domain::ToolError& error) {
    if (!error.recovery_hint || error.recovery_hint->empty() ||
        (error.details && !error.details->is_object()))
        return error.details;
    json::object details = error.details ? error.details->get_object() : json::object();
    details.emplace("hint", *error.recovery_hint);
    return details;
}

}  // namespace

std::string shown_name(std::string_view tool) {
    return base::printable(base::ellipsize(base::to_utf8(tool), kToolNameCharsMax));
}

domain::ToolResult result_of(const domain::ToolCall& call, const results::Envelope& envelope,
                             domain::ResultStatus status, domain::Effects effects) {
    domain::ToolResult result{.call_id = call.call_id,
                              .run_id = call.run_id,
                              .step_id = call.step_id,
                              .tool = call.tool,
                              .attempt = call.attempt};
    result.status = envelope.ok()                        ? status
                    : status == domain::ResultStatus::Ok ? domain::ResultStatus::Error
                                                         : status;
    result.ok = result.status == domain::ResultStatus::Ok;
    result.effects = std::move(effects);
    result.user_message =
        base::printable(base::ellipsize(envelope.summary_text(), kUserMessageCharsMax));
    result.debug_message =
        fmt::format("{} {} ({})", call.tool, base::enum_name(result.status), call.step_id);
    if (result.ok) {
        result.data = envelope.result();
        result.data_hash = domain::args_hash(envelope.result());
    } else {
        // A tool that was stopped may still have output to show; for its caller, it failed.
        const domain::ToolError error = envelope.ok()
                                            ? domain::ToolError{.message = envelope.summary_text()}
                                            : envelope.error();
        result.error = domain::ResultError{.code = std::string(error_code(error, result.status)),
                                           .message = error.message,
                                           .details = details_of(error),
                                           .retryable = error.retryable};
    }
    return result;
}

Dispatched without_running(const domain::ToolCall& call, domain::ToolError error,
                           domain::ResultStatus status, base::Time now) {
    auto envelope = results::Envelope::failure(shown_name(call.tool), std::move(error));
    Dispatched dispatched{.result = result_of(call, envelope, status, {}),
                          .envelope = envelope,
                          .receipt = results::render_error(envelope)};
    dispatched.result.started_at = dispatched.result.ended_at = now;
    return dispatched;
}

domain::ToolError unknown_outcome(const domain::ToolCall& call) {
    return {.kind = "tool_outcome_unknown",
            .message =
                "The runtime stopped while this call was running. Whether it took effect, "
                "fully or in part, is unknown.",
            .details = json::object{{"tool_name", call.tool}, {"call_id", call.call_id.value}},
            .recovery_hint =
                "Check the world first (files, processes, services); then decide "
                "whether to make the call again."};
}

domain::ToolError not_made(std::string_view why) {
    return {.kind = "tool_call_not_made",
            .message = fmt::format("The call was not made: {}.", why),
            .recovery_hint = "It has had no effect. Make it again if it is still needed."};
}

}  // namespace tools
