// The tools that servers listed in earlier processes, so that a process offers them before the
// servers have started. A cache: the server's own list replaces it, and any of it may be deleted.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/sections/mcp.h"
#include "exec/tools/mcp/catalogue.h"

namespace mcp {

// The list in `file`; none when there is no such file, or when it is of a server with another
// program, address or arguments.
std::optional<Listed> known_list(const std::filesystem::path& file,
                                 const config::McpServer& server);

base::Status keep_list(const std::filesystem::path& file, const config::McpServer& server,
                       const Listed& listed);

}  // namespace mcp
