// The credentials of this runtime, and the guard that keeps them out of everything it writes.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace app {

// Those of providers, of the control surface and of its triggers, as far as they are known now. A
// login that is read or renewed later makes itself known.
std::vector<std::string> credentials_of(const config::Config& config);

// From here on no text that is kept, shown or sent holds one of them (base/scan/secrets.h).
void guard_credentials(const config::Config& config);

}  // namespace app
