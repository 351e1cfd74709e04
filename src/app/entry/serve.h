// The runtime in this process, until it receives a signal or a shutdown request: what `holon serve`
// is.
#pragma once

#include "config/config.h"
#include "service/daemon/access/serve_options.h"
#include "surfaces/cli/cli.h"

namespace app {

struct ServeParts {
    config::Config config;
    const config::Environment& environment;
    const cli::Terminal& terminal;
    service::Settings& settings;
};

// SIGTERM, SIGINT and POST /control/runtime/shutdown drain: no new requests, what runs is
// interrupted and resumed by the next start. A second signal ends at once, which loses nothing
// that was committed. SIGHUP opens the log file anew.
cli::Exit serve(const service::ServeOptions& options, const ServeParts& parts);

}  // namespace app
