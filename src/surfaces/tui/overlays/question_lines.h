// What an MCP server asks, as lines to read. Its words are escaped. Pure.
#pragma once

#include <vector>

#include "service/mcp.h"
#include "surfaces/show/line.h"

namespace tui {

// Who asks, until when, the message, and the whole address where it is one; the names of the fields
// where it is a form.
std::vector<show::Line> question_lines(const service::McpQuestion& question, std::size_t columns);
// The same without the fields, above a form.
std::vector<show::Line> question_head(const service::McpQuestion& question, std::size_t columns);

}  // namespace tui
