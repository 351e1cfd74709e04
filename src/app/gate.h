// The gate with the real store behind it.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/config.h"
#include "service/gate.h"

namespace app {

// Opening compiles no rules and starts no thread but the store's writer.
base::Result<std::unique_ptr<service::Gate>> open_gate(const config::Config& config);

}  // namespace app
