// The MCP servers of the configuration, wired to real processes.
#pragma once

#include "config/config.h"
#include "exec/tools/mcp/servers.h"

namespace app {

// For a runtime: `config` and `boundary` must outlive it.
mcp::ServersParts mcp_parts(const config::Config& config, base::Loop& loop, base::Clock& clock,
                            mcp::ChildRunner& children, const sandbox::Boundary& boundary);

// What `holon doctor` says about each server. With `probe` all enabled ones are started, asked for
// their tools and ended again.
json::array mcp_diagnosis(const config::Config& config, bool probe);

}  // namespace app
