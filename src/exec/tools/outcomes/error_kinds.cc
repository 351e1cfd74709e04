#include "exec/tools/outcomes/error_kinds.h"

#include <algorithm>
#include <array>

#include "exec/tools/mutation.h"
#include "exec/tools/policy/flow_policy.h"
#include "exec/tools/result_gate.h"

namespace tools {
namespace {

// Tools with nothing finer to say use the code itself, in the spelling of kinds.
constexpr auto kErrorKinds = [] {
    using enum ResultCode;
    return std::to_array<ErrorKind>({
        {"invalid_tool_input", ValidationError},
        {"invalid_patch_syntax", ValidationError},
        {"unsupported_git_patch_feature", ValidationError},
        {"duplicate_file_patch", ValidationError},
        {"missing_git_header", ValidationError},
        {"rename_path_mismatch", ValidationError},
        {"unresolved_reference", ValidationError},
        {"truncated_mutation_tool_call", ValidationError},
        {"invalid_url", ValidationError},

        {"execution_root_violation", PolicyDenied},
        {"path_escape", PolicyDenied},
        {"unsupported_agent_profile_capability", PolicyDenied},
        {"unsupported_runtime_capability", PolicyDenied},
        {"tool_not_exposed_for_round", PolicyDenied},
        {kUntrustedInstructions, PolicyDenied},
        {kNeedsApproval, PolicyDenied},
        {kFollowUpRefused, PolicyDenied},
        {"credential_withheld", PolicyDenied},
        {kResultRejected, PolicyDenied},
        {"policy_denied", PolicyDenied},
        {"network_denied", PolicyDenied},
        {"web_fetch_disabled", PolicyDenied},
        {"web_search_disabled", PolicyDenied},

        {"unknown_tool", NotFound},
        {"missing_file", NotFound},
        {"not_found", NotFound},
        {"memory_source_not_found", NotFound},
        {"unknown_work_item", NotFound},

        {"existing_file", Conflict},
        {"file_changed", Conflict},
        {"changed_since", Conflict},
        {"conflict", Conflict},
        {"work_item_completed", Conflict},

        {"context_not_found", PreconditionFailed},
        {"ambiguous_context", PreconditionFailed},
        {"delete_content_mismatch", PreconditionFailed},
        {"undo_not_kept", PreconditionFailed},
        {"unsupported_file_type", PreconditionFailed},
        {"plan_artifact_unreadable", PreconditionFailed},
        {"precondition_failed", PreconditionFailed},
        // Limits that an end of something else makes room under.
        {"task_limit_reached", PreconditionFailed},
        {"delegation_limit_reached", PreconditionFailed},
        {"notification_refused", PreconditionFailed},
        {"rate_limited", PreconditionFailed},
        // Nothing was sent: the server has to be set up, started or answered first.
        {"mcp_server_unavailable", PreconditionFailed},
        {"mcp_input_required", PreconditionFailed},
        {"provider_unavailable", PreconditionFailed},

        {"mcp_timeout", Timeout},
        {"tool_timed_out", Timeout},

        {"cancelled", Cancelled},
        {"tool_cancelled", Cancelled},
        {"tool_call_not_made", Cancelled},
        {"skipped", Cancelled},
        // Of previews and replays, which make no call.
        {"not_run", Cancelled},
        {"not_recorded", Cancelled},

        {"tool_execution_failed", InternalError},
        {"tool_outcome_unknown", InternalError},
        {"invalid_tool_output", InternalError},
        {"artifact_write_failed", InternalError},
        {"command_failed", InternalError},
        {"command_spawn_failed", InternalError},
        {"mcp_protocol_error", InternalError},
        {"mcp_server_died", InternalError},
        {"mcp_response_too_large", InternalError},
        {"mcp_invalid_output", InternalError},
        {"mcp_tool_error", InternalError},
        {"network_failed", InternalError},
        {"response_too_large", InternalError},
        {"redirect_without_location", InternalError},
        {"invalid_redirect_location", InternalError},
        {"too_many_redirects", InternalError},
    });
}();

}  // namespace

std::string_view text_of(ResultCode code) {
    using enum ResultCode;
    switch (code) {
        case ValidationError:
            return "VALIDATION_ERROR";
        case PolicyDenied:
            return "POLICY_DENIED";
        case NotFound:
            return "NOT_FOUND";
        case Conflict:
            return "CONFLICT";
        case PreconditionFailed:
            return "PRECONDITION_FAILED";
        case Timeout:
            return "TIMEOUT";
        case Cancelled:
            return "CANCELLED";
        case InternalError:
            return "INTERNAL_ERROR";
    }
    return "INTERNAL_ERROR";
}

std::span<const ErrorKind> error_kinds() {
    return kErrorKinds;
}

std::optional<ResultCode> code_of(std::string_view kind) {
    const auto* found = std::ranges::find(kErrorKinds, kind, &ErrorKind::kind);
    if (found == kErrorKinds.end()) return std::nullopt;
    return found->code;
}

}  // namespace tools
