// One process at a time runs an agent. The lock goes with the process, however it ends.
#pragma once

#include <filesystem>

#include "base/files.h"
#include "base/result.h"

namespace service {

// Held until destroyed. Conflict, naming the holder, when another process has the agent.
base::Result<base::Fd> lock_agent(const std::filesystem::path& agent_home,
                                  const std::string& agent);

}  // namespace service
