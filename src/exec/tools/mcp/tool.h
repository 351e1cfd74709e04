// A tool of a server as one of ours.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "exec/tools/mcp/catalogue.h"
#include "exec/tools/mcp/session.h"
#include "exec/tools/tool.h"

namespace mcp {

// Why an agent may not use servers at all, or nothing.
using Refusal = std::function<std::optional<domain::ToolError>(const domain::AgentId&)>;

// `session` must outlive it. Its risk is the one that the operator gave the server.
std::unique_ptr<tools::Tool> tool(Session& session, const Offer& offer, Refusal refusal);

}  // namespace mcp
