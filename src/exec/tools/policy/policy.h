// What a call's own policy lets it do.
#pragma once

#include <filesystem>
#include <optional>

#include "domain/tool.h"

namespace tools {

// Why `call` must not reach its tool, or nothing: a risk above the allowed level; a change without
// the approval that the policy asks for; and, where the sandbox is on, a path outside the allowed
// roots or text that matches a denied pattern. Relative paths and roots are meant below `root`.
// Links are followed as far as the path exists.
//
// Paths are the args named path, paths, from, to, folder, dir, root, file, cwd, workdir, oldPath
// and newPath, and those in `more`, which the tool finds elsewhere in the call; patterns are held
// against those and against cmd and command. See PathRules.
std::optional<domain::ToolError> policy_refusal(const domain::ToolCall& call,
                                                const std::filesystem::path& root,
                                                const std::vector<std::string>& more = {});

}  // namespace tools
