// Puts the real parts together: the only place that names a backend or a vendor.
#pragma once

#include <memory>

#include "base/os/asio_loop.h"
#include "base/result.h"
#include "config/config.h"
#include "flow/plans/plans.h"
#include "record/events/events.h"
#include "service/gate.h"
#include "service/local/local_service.h"
#include "service/plans.h"

namespace app {

// Whether tools will be offered or called. Only then are MCP servers asked for theirs.
enum class Tools { Unused, Used };

// Everything one process needs to run agents. Opening starts no thread and sends no request; with
// Tools::Used it starts the MCP servers that are configured, and waits for them for a while.
class Runtime {
public:
    static base::Result<std::unique_ptr<Runtime>> open(const config::Config& config, Tools tools);
    virtual ~Runtime() = default;
    virtual service::LocalService& service() = 0;
    virtual plans::Plans& plans() = 0;
    virtual service::Plans& plan_service() = 0;  // The same, as operators get them.
    virtual service::Gate& gate() = 0;
    virtual base::AsioLoop& loop() = 0;
    virtual base::Clock& clock() = 0;
    virtual events::Feed& feed() = 0;
};

}  // namespace app
