// One short question to a model, to see whether it answers.
#pragma once

#include "service/local/settings/local_settings.h"

namespace app {

// Asks `ref` alone, without fallbacks, on a loop of its own; blocks until the answer, a failure or
// a minute has passed. The answer itself is dropped.
service::ModelProbe ask_model(const config::Config& config, const config::ModelRef& ref);

}  // namespace app
