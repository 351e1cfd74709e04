// The skills that come with the program.
#pragma once

#include <vector>

#include "agent/skills/tree.h"

namespace skills {

// All of them, by name.
const std::vector<Tree>& builtin_skills();
// Null when there is none of this name.
const Tree* find_builtin(std::string_view name);

}  // namespace skills
