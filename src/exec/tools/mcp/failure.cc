#include "exec/tools/mcp/failure.h"

#include "base/plain_text.h"
#include "exec/tools/mcp/wire/line_codec.h"
#include "exec/tools/mcp/wire/message.h"

namespace mcp {
namespace {

constexpr std::size_t kMessageCharsMax = 300;

// The outcome of every call that was sent and has no result is unknown.
constexpr std::string_view kCheckFirst =
    "Nobody knows what the call has done. Check the world before you make it again.";

struct Reporter {
    const std::string& server;

    domain::ToolError operator()(const NotStarted& failure) const {
        return {.kind = "mcp_server_unavailable",
                .message = fmt::format("The MCP server {} could not be used: {}", server,
                                       base::plain_text(failure.reason, kMessageCharsMax)),
                .recovery_hint =
                    "The call was not made. Continue without this server; the operator "
                    "can see more with: holon doctor --probe",
                .retryable = true};
    }
    domain::ToolError operator()(const Refused& failure) const {
        return {.kind = "mcp_protocol_error",
                .message = fmt::format("The MCP server {} refused the call: {}", server,
                                       base::plain_text(failure.message, kMessageCharsMax)),
                .details = json::object{{"code", failure.code}},
                .recovery_hint = failure.code == kInvalidParams
                                     ? "Send other arguments, as its schema describes them."
                                     : "Use another tool, or continue without it."};
    }
    domain::ToolError operator()(const TimedOut& failure) const {
        return {.kind = "mcp_timeout",
                .message = fmt::format("The MCP server {} did not answer within {} ms.", server,
                                       failure.timeout_ms),
                .recovery_hint = std::string(kCheckFirst)};
    }
    domain::ToolError operator()(const Stopped&) const {
        return {.kind = "cancelled",
                .message = fmt::format("The call was cancelled; the MCP server {} was asked to "
                                       "stop it.",
                                       server),
                .recovery_hint = std::string(kCheckFirst)};
    }
    domain::ToolError operator()(const Died& failure) const {
        return {
            .kind = "mcp_server_died",
            .message = fmt::format("The MCP server {} was lost during the call: {}. What the call "
                                   "did is unknown.",
                                   server, base::plain_text(failure.how, kMessageCharsMax)),
            .recovery_hint = fmt::format("{} The next call starts the server again.", kCheckFirst)};
    }
    domain::ToolError operator()(const TooLarge&) const {
        return {.kind = "mcp_response_too_large",
                .message = fmt::format("The MCP server {} sent a message of more than {} bytes, "
                                       "which was not read.",
                                       server, kLineBytesMax),
                .recovery_hint = fmt::format("{} Then ask for less at once.", kCheckFirst)};
    }
};

}  // namespace

domain::ToolError error_for(const Failure& failure, const std::string& server,
                            const std::string& tool) {
    domain::ToolError error = std::visit(Reporter{server}, failure);
    json::object details = error.details ? error.details->as_object() : json::object{};
    details["server"] = server;
    details["tool"] = base::plain_text(tool, kMessageCharsMax);
    error.details = std::move(details);
    return error;
}

domain::ResultStatus status_for(const Failure& failure) {
    if (std::holds_alternative<TimedOut>(failure)) return domain::ResultStatus::Timeout;
    if (std::holds_alternative<Stopped>(failure)) return domain::ResultStatus::Cancelled;
    return domain::ResultStatus::Error;
}

}  // namespace mcp
