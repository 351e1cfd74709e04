// Processes that outlive the command that starts or ends them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/os/files.h"

namespace service {

// A descriptor that the started process writes one line to: "ready", or what went wrong. Its number
// is in this variable.
inline constexpr const char* kReadyVariable = "HOLON_READY_FD";
inline constexpr std::string_view kReady = "ready";

struct BackgroundSpec {
    std::vector<std::string> argv;
    std::vector<std::pair<std::string, std::string>> environment;  // Added to ours.
    std::filesystem::path log;  // Its output before it opens its own log.
};

// Starts it in a session of its own and waits until it reports that it is ready. Any other report,
// its end, or no report within `limit` is an error; the process has been ended then.
base::Result<pid_t> start_in_background(const BackgroundSpec& spec,
                                        std::chrono::milliseconds limit);

// For the started process: writes the one line. No effect when no starter waits for it.
void notify_starter(std::string_view line);

// A process that is not ours, by a descriptor, so that a number used again is never mistaken for
// it.
class OtherProcess {
public:
    explicit OtherProcess(pid_t pid);
    bool exists() const { return static_cast<bool>(fd_); }
    base::Status send(int signal) const;
    // True once it has ended.
    bool ends_within(std::chrono::milliseconds limit) const;

private:
    pid_t pid_;
    base::Fd fd_;
};

}  // namespace service
