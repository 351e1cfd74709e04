// One case: a plan, a vault and what must come of them. README.md has the format.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plans_test {

// Everything that is not as the case says, in sentences; empty when it holds.
std::vector<std::string> run_case(const std::filesystem::path& file);

}  // namespace plans_test
