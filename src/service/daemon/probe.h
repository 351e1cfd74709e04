// Inspects a home: files, lock, and the process that answers at the control socket.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "service/daemon/decide.h"
#include "service/daemon/run_files.h"

namespace service {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kProbeTimeout = 3s;
inline constexpr int kProbesMax = 2;

// Asks the process at the socket at most kProbesMax questions, and waits up to kProbeTimeout for
// each answer.
DaemonFacts inspect(const RunFiles& files, const std::filesystem::path& home);

// Does the daemon at `url` require a token and accept this one?
bool takes_token(const std::string& url, const std::string& token);

// The meaning of an answer at the socket. Pure.
Control judge(const base::Result<json::value>& answer, const std::filesystem::path& home);

}  // namespace service
