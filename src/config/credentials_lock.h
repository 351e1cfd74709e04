// The right to change credentials.json.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/os/files.h"
#include "base/result.h"

namespace config {

// How long one process waits for another that changes the file; a renewal of a token takes longest.
inline constexpr std::chrono::milliseconds kCredentialsLockStep{100};
inline constexpr int kCredentialsLockTries = 600;

// Held from the reading of the file to its writing, so that no change of another process is lost.
// Released when it is destroyed, and with the process.
using CredentialsLock = base::Fd;

// Nothing while another process holds it. Does not wait.
base::Result<std::optional<CredentialsLock>> try_lock_credentials(
    const std::filesystem::path& home);

// Waits for it; Conflict when the other process does not finish in time. Makes the home if need be.
// Not for the loop's thread.
base::Result<CredentialsLock> lock_credentials(const std::filesystem::path& home);

}  // namespace config
