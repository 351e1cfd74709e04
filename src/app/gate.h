// The gate with the real store behind it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "service/gate.h"

namespace app {

// Every secret that the runtime itself knows.
std::vector<std::string> credentials_of(const config::Config& config);

// Opening compiles no rules and starts no thread but the store's writer.
base::Result<std::unique_ptr<service::Gate>> open_gate(const config::Config& config);

}  // namespace app
