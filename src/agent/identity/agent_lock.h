// One process at a time runs an agent. The lock goes with the process, however it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/os/files.h"
#include "base/result.h"

namespace identity {

// Held until destroyed. Conflict, naming the holder, when another process has the agent.
base::Result<base::Fd> lock_agent(const std::filesystem::path& agent_home,
                                  const std::string& agent);

// The locks this process holds. Callers that ask for the same agent share one, and the last of them
// releases it. Any thread may use it.
class AgentLocks {
public:
    // Held until the last copy of the result is gone. Conflict when another process has the agent.
    base::Result<std::shared_ptr<void>> take(const std::filesystem::path& agent_home,
                                             const std::string& agent);

private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<base::Fd>> held_;
};

// The same for anything that has a folder; `what` names it in the error: "agent main".
base::Result<base::Fd> lock_folder(const std::filesystem::path& folder, const std::string& what);

// The process that holds the lock, or nothing. Unavailable when it has not written its id yet.
base::Result<std::optional<pid_t>> lock_holder(const std::filesystem::path& folder);

// Waits until the lock is free, and takes it. Conflict when it is still held after `bound`. Blocks.
base::Result<base::Fd> wait_for_lock(const std::filesystem::path& folder,
                                     std::chrono::milliseconds bound);

}  // namespace identity
