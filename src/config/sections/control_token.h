// The control token that the daemon makes for itself when none is configured. It guards TCP;
// clients of the same user read the file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace config {

// The token in `file`. Empty when there is none to trust: the file is missing, is no regular file,
// belongs to another user, could be read by others, or holds no token. Links are not followed.
std::optional<std::string> read_control_token(const std::filesystem::path& file);

// The same, but makes a new token of 256 random bits, readable by the owner only, when there is
// none to trust. On return the token is on disk. The folder must exist; one process at a time may
// call this for a file.
base::Result<std::string> ensure_control_token(const std::filesystem::path& file);

}  // namespace config
