// The confined world of a policy, part by part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "exec/sandbox/policy.h"
#include "exec/sandbox/program/plan.h"

namespace sandbox {

// Opens every path of `policy` without following links and gives the parts, outer ones first, with
// the identity of what was opened; holon-confine opens them again and compares. NotFound for a
// writable root that is not an existing folder; InvalidInput for "/"; Refused for one that is, or
// leads through, a symbolic link, that lies in a git folder, that is a home or lies above one, or
// whose .git is a link or redirects git elsewhere (.git/commondir). Creates an empty folder of
// hooks or an empty file where git's settings name one in a writable root that does not exist, so
// that the command cannot. `mounted_settings` are those of SystemSettings. Blocks on the file
// system; any thread.
base::Result<std::vector<Part>> lay_out(const Policy& policy,
                                        const std::vector<std::string>& mounted_settings = {});

// Credential stores of the system, hidden wherever a policy would show them.
std::vector<std::string> system_secrets();

}  // namespace sandbox
