// Fetches documents of the web for the runtime.
#pragma once

#include "agent/skills/github.h"
#include "config/config.h"

namespace app {

// GETs with the proxy and the certificates of the configuration, within a bound of time and size.
// Each call has a loop of its own, so that it may be made on any thread but the loop's.
skills::Fetch fetch_of(const config::Config& config);

}  // namespace app
