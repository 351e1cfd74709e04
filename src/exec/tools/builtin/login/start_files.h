// The files that decide what a login shell knows, and whether one of them has changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exec/tools/builtin/login/shell_state.h"

namespace builtin {

// The start files of a shell for the user whose home this is, the files that they name, and what
// tools that start files call depend on. Also those that do not exist: they may appear. Reads
// files; any thread.
std::vector<std::filesystem::path> start_files(ShellKind kind, const std::filesystem::path& home);

// Files of a workspace that such tools read: in `folder` and the folders above it.
std::vector<std::filesystem::path> workspace_files(const std::filesystem::path& folder);

// Equal texts: none of them was changed, made or removed. Asks for their status only.
std::string stamp_of(const std::vector<std::filesystem::path>& files);

// Whether a start file of a shell that cannot list its functions defines one.
bool defines_function(const std::vector<std::filesystem::path>& files);

}  // namespace builtin
