// Puts the real parts together: the only place that names a backend or a vendor.
#pragma once

#include <chrono>
#include <memory>

#include "base/os/asio_loop.h"
#include "base/result.h"
#include "config/config.h"
#include "flow/notify/sender.h"
#include "flow/plans/plans.h"
#include "flow/retention/idle.h"
#include "flow/retention/keeper.h"
#include "record/events/events.h"
#include "service/gate.h"
#include "service/local/local_service.h"
#include "service/mcp.h"
#include "service/plans.h"

namespace app {

// Whether tools will be offered or called. Only then are MCP servers started and asked for theirs.
// UsedLater: what no earlier process has listed is offered when its server is ready, and nothing
// waits for it.
enum class Tools { Unused, Used, UsedLater };

// Where processes mark which agent they execute a step of; see base/os/crash/crash_marks.h.
std::filesystem::path marks_folder(const config::Config& config);

// How long a turn waits for a provider that is down, unless the operator has set it: in a command
// that an operator waits for, and in the daemon.
inline constexpr std::chrono::milliseconds kCommandPatience = std::chrono::minutes(5);
inline constexpr std::chrono::milliseconds kDaemonPatience = std::chrono::hours(12);

// Everything one process needs to run agents. It owns all that it hands out.
class Runtime {
public:
    // Opens the store of `config.home` and makes the parts; nothing is left behind when it fails.
    // Starts no thread but the store's writer and sends no request, unless tools are used: then it
    // sets up HTTP on a thread that is over when it returns, and starts the MCP servers that are
    // configured and, with Tools::Used, runs the loop until the tools of each are known or it has
    // failed, for a bounded time. The caller then has the loop, and runs it. `patience` is for a
    // provider that is down, unless `config` has one.
    static base::Result<std::unique_ptr<Runtime>> open(
        const config::Config& config, Tools tools,
        std::chrono::milliseconds patience = kCommandPatience);
    // Not while the loop runs or a client still calls. Waits for work in the background and for the
    // commits under way.
    virtual ~Runtime() = default;
    virtual service::LocalService& service() = 0;
    virtual plans::Plans& plans() = 0;
    virtual service::Plans& plan_service() = 0;  // The same, as operators get them.
    virtual service::Gate& gate() = 0;
    virtual service::McpLive& mcp() = 0;
    virtual base::AsioLoop& loop() = 0;
    virtual base::Clock& clock() = 0;
    virtual events::Feed& feed() = 0;
    virtual retention::Keeper& retention() = 0;
    virtual notify::Sender& notifier() = 0;  // Used on the loop; sends nothing before its start().
    // What the home stores, and what retention makes of it. Any thread but the loop's; blocks.
    virtual base::Result<retention::Report> retention_report() = 0;
};

}  // namespace app
