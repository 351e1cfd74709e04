// The configuration of a daemon, without secrets, and its fingerprint. Pure.
#pragma once

#include <string>

#include "config/config.h"
#include "service/daemon/access/access.h"

namespace service {

json::object startup_surface(const config::Config& config, const ServePlan& plan);
json::object runtime_surface(const config::Config& config);

// SHA-256 of everything that makes one runtime differ from another of the same home. Two things
// are left out on purpose: the token, as a digest of a weak one could be guessed, and the folder
// that a command was typed in, unless it was named as the workspace.
std::string fingerprint(const config::Config& config, const ServePlan& plan);

}  // namespace service
