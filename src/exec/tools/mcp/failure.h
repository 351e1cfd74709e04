// Why a call to a server has no result, and the error that the model receives.
#pragma once

#include <string>
#include <variant>

#include "domain/tool.h"

namespace mcp {

// The server could not be started, so the call was not sent.
struct NotStarted {
    std::string reason;
};
// The server answered with an error of the protocol.
struct Refused {
    std::int64_t code{0};
    std::string message;
};
// In the cases below the call was sent, and its effect is unknown.
struct TimedOut {
    std::int64_t timeout_ms{0};
};
struct Stopped {};  // We were asked to cancel it.
struct Died {
    std::string how;
};
struct TooLarge {};  // Its answer, or what came instead of it, was beyond the bound.
using Failure = std::variant<NotStarted, Refused, TimedOut, Stopped, Died, TooLarge>;

domain::ToolError error_for(const Failure& failure, const std::string& server,
                            const std::string& tool);

// How the call counts: Timeout, Cancelled or Error.
domain::ResultStatus status_for(const Failure& failure);

}  // namespace mcp
