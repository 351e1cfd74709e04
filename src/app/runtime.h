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

// Everything one process needs to run agents. It owns all that it hands out.
class Runtime {
public:
    // Opens the store of `config.home` and makes the parts; nothing is left behind when it fails.
    // Starts no thread but the store's writer and sends no request; with Tools::Used it also starts
    // the MCP servers that are configured, and runs the loop until each has listed its tools or
    // failed, for a bounded time. The caller then has the loop, and runs it.
    static base::Result<std::unique_ptr<Runtime>> open(const config::Config& config, Tools tools);
    // Not while the loop runs or a client still calls. Waits for work in the background and for the
    // commits under way.
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
