// Every kind of error that a call can end with, and the code that plans and programs branch on.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace tools {

// The codes of the execution surface. Kinds are finer. A plan's step that failed with a validation
// error or a denial, or was cancelled, is not tried again.
enum class ResultCode {
    ValidationError,     // The arguments are wrong.
    PolicyDenied,        // A rule forbids it.
    NotFound,            // What the call names does not exist.
    Conflict,            // It exists already, or has changed meanwhile.
    PreconditionFailed,  // Something else has to be done or to happen first.
    Timeout,
    Cancelled,     // It was not made, or stopped on request.
    InternalError  // It failed, or its outcome is unknown.
};
// As results spell it: "VALIDATION_ERROR".
std::string_view text_of(ResultCode code);

struct ErrorKind {
    std::string_view kind;  // ToolError::kind.
    ResultCode code;
};
// A kind that the program makes is in this list; a test compares it with the sources.
std::span<const ErrorKind> error_kinds();

// Nothing for a kind that is not in the list.
std::optional<ResultCode> code_of(std::string_view kind);

}  // namespace tools
