// Looks at a home from outside: files, lock, and who answers at the control socket.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "service/daemon/decide.h"
#include "service/daemon/run_files.h"

namespace service {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kProbeTimeout = 3s;

// Blocks up to kProbeTimeout.
DaemonFacts look_at(const RunFiles& files, const std::filesystem::path& home);

// Whether the runtime at `url` asks for a token and takes this one.
bool takes_token(const std::string& url, const std::string& token);

// What an answer at the socket tells. Pure.
Control judge(const base::Result<json::value>& answer, const std::filesystem::path& home);

}  // namespace service
