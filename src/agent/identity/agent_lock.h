// One process at a time runs an agent. The lock goes with the process, however it ends.
#pragma once

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
    // False when this process holds no lock of the agent, or the file of the lock was removed or
    // replaced: another process may have the agent then.
    bool still_holds(const std::filesystem::path& agent_home, const std::string& agent);

private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<base::Fd>> held_;
};

// The same for anything that has a folder; `what` names it in the error: "agent main".
base::Result<base::Fd> lock_folder(const std::filesystem::path& folder, const std::string& what);

// Does a process hold the lock?
base::Result<bool> is_locked(const std::filesystem::path& folder);

// A pidfd of the process that holds the lock, or nothing when nobody does. It refers to that
// process and never to a later one with the same number. Unavailable when the process cannot be
// identified: it has not written who it is yet, or an older program holds the lock.
base::Result<std::optional<base::Fd>> lock_holder(const std::filesystem::path& folder);

// Sends `signal` to the process of a pidfd. A process that has ended is no error.
base::Status signal_process(const base::Fd& process, int signal);

// Waits until the lock is free, and takes it. Conflict when it is still held after `bound`. Blocks.
base::Result<base::Fd> wait_for_lock(const std::filesystem::path& folder,
                                     std::chrono::milliseconds bound);

}  // namespace identity
