// `holon tui`: the console over the daemon of this home, or over another runtime.
#pragma once

#include "config/config.h"
#include "service/daemon/daemon.h"
#include "surfaces/cli/cli.h"

namespace app {

// How the daemon of this home is started and found.
service::DaemonParts daemon_parts(const config::Config& config, const cli::Invocation& invocation,
                                  base::Clock& clock);

// Starts the daemon unless one runs, and blocks until the operator leaves.
cli::Exit run_console(const cli::TuiCommand& command, const config::Config& config,
                      const cli::Invocation& invocation, const cli::Terminal& terminal);

}  // namespace app
