// Running git for the runtime's own ends: fixed arguments, no shell, nothing of the repository's
// run.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/os/process.h"
#include "domain/tool.h"

namespace builtin {

inline constexpr std::chrono::seconds kGitLookMax{20};
inline constexpr std::chrono::seconds kWorktreeAddMax{300};

// One that is asked in `folder`. Hooks, file system monitors, the network and submodules are off.
base::ProcessSpec git_command(const std::filesystem::path& folder,
                              const std::vector<std::string>& arguments,
                              const std::vector<std::pair<std::string, std::string>>& environment,
                              std::chrono::milliseconds timeout);

// What git said went wrong, in one line for a model.
domain::ToolError git_failed(const std::string& what, const base::ProcessExit& exit);

}  // namespace builtin
