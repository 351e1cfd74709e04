// The boundary that commands run behind, from the configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "exec/sandbox/boundary.h"

namespace app {

sandbox::Boundary boundary_of(const config::Config& config, const config::Sandbox& sandbox);

// Decides what confines commands where the settings leave it open, and gives the notes that the
// operator should read. `wanted` is that of the command line and applies to this process only. A
// home without a database is a new one: its commands are confined if this machine can do that,
// unless `new_home` (HOLON_NEW_HOME_SANDBOX) says none. Other homes keep what they have. May run
// a confined command.
base::Result<std::vector<std::string>> choose_sandbox(config::Config& config,
                                                      const std::optional<std::string>& wanted,
                                                      const std::string& new_home);
// Writes that commands are confined to the settings of a new home, before its database is made.
// Nothing happens for other homes.
base::Status keep_sandbox(const config::Config& config);
// For operators whose commands are not confined, or confined as root; empty for others.
std::string boundary_note(const config::Config& config);

// What `holon doctor` says of it: {backend, version, network, enforced, missing, agents}.
json::object sandbox_report(const config::Config& config);

}  // namespace app
