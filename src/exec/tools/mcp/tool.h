// A tool of a server as one of ours.
#pragma once

#include <memory>

#include "exec/tools/mcp/catalogue.h"
#include "exec/tools/mcp/session.h"
#include "exec/tools/tool.h"

namespace mcp {

// `session` must outlive it. Its risk is the one that the operator gave the server.
std::unique_ptr<tools::Tool> tool(Session& session, const Offer& offer);

}  // namespace mcp
