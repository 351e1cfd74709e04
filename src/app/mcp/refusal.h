// Whether an agent may call tools of MCP servers.
#pragma once

#include <optional>

#include "config/config.h"
#include "domain/tool.h"

namespace app {

// Servers are shared and run behind the boundary of all agents. One that is confined more closely
// would get out through them, and one that may start no process would have some started: their
// calls get this error. Pure; any thread.
std::optional<domain::ToolError> mcp_refusal(const config::Sandboxes& sandboxes,
                                             const domain::AgentId& agent);

}  // namespace app
