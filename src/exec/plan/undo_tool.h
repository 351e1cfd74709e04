// The tool that takes one change of an earlier run back. A revert is a plan of such calls, so it is
// approved, recorded and undone like any other run.
#pragma once

#include <memory>

#include "base/loop.h"
#include "exec/tools/tool.h"

namespace plan {

inline constexpr std::string_view kUndoTool = "plan.undo";

// Restores only from files below `artifacts`, where runs keep what they changed.
std::unique_ptr<tools::Tool> undo_tool(base::Loop& loop, std::filesystem::path artifacts);

}  // namespace plan
