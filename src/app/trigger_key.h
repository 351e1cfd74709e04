// The secret of a home that the tokens of its external triggers are made from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace app {

// Reads <home>/trigger.key, or makes it, readable by its owner alone. Two programs that start
// together get the same one.
base::Result<std::string> trigger_key(const std::filesystem::path& home);
// The one that is there already, if it is.
std::optional<std::string> known_trigger_key(const std::filesystem::path& home);

}  // namespace app
