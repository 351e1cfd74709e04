// One process at a time runs an agent. The lock goes with the process, however it ends.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace service {

// Held until destroyed. Conflict, naming the holder, when another process has the agent.
base::Result<base::Fd> lock_agent(const std::filesystem::path& agent_home,
                                  const std::string& agent);

// The locks this process holds. Those who ask for the same agent share one, and the last of them
// lets it go. Any thread may use it.
class AgentLocks {
public:
    base::Result<std::shared_ptr<void>> take(const std::filesystem::path& agent_home,
                                             const std::string& agent);

private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<base::Fd>> held_;
};

}  // namespace service
