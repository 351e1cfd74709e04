// The boundary that commands run behind, from the configuration.
#pragma once

#include "config/config.h"
#include "exec/sandbox/boundary.h"

namespace app {

sandbox::Boundary boundary_of(const config::Config& config, const config::Sandbox& sandbox);

// What `holon doctor` says of it: {backend, version, network, enforced, missing, agents}.
json::object sandbox_report(const config::Config& config);

}  // namespace app
