// What becomes of a call: its result record, and the results of calls that never reached a tool.
// Pure: values in, values out.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "domain/tool.h"
#include "exec/results/project.h"
#include "exec/tools/tool.h"

namespace tools {

// All that is kept of a finished call.
struct Dispatched {
    domain::ToolResult result;
    results::Envelope envelope;
    std::string receipt;  // What the model reads.
    std::vector<Mutation> mutations{};
    std::vector<sandbox::Denial> denials{};
    std::optional<domain::SeenFiles> seen{};
};

// The name of a tool as it may be shown. A model may invent any name, so it is bounded and
// printable.
std::string shown_name(std::string_view tool);

// The result record of a call that ended with this envelope. Its times are left to the caller.
domain::ToolResult result_of(const domain::ToolCall& call, const results::Envelope& envelope,
                             domain::ResultStatus status, domain::Effects effects);

// The result of a call that did not run, or whose end nobody saw.
Dispatched without_running(const domain::ToolCall& call, domain::ToolError error,
                           domain::ResultStatus status, base::Time now);

// The error of a call that was running when the runtime stopped, and must not be repeated.
domain::ToolError unknown_outcome(const domain::ToolCall& call);
// The error of a call that was never started.
domain::ToolError not_made(std::string_view why);

}  // namespace tools
