// A log file of bounded size.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/os/files.h"

namespace base {

inline constexpr std::size_t kLogBytesMax = 8 * 1024 * 1024;
inline constexpr int kOldLogsMax = 4;  // daemon.log.1 is the newest of them.

// Any thread may write. Where standard output or error go to the same file, they follow it when it
// is rotated.
class LogFile {
public:
    static Result<std::unique_ptr<LogFile>> open(const std::filesystem::path& path,
                                                 std::size_t bytes_max = kLogBytesMax);

    // One line, without its newline. A full disk loses the line and nothing else.
    void write(std::string_view line);
    // Opens the path again, after an external log rotation has moved the file.
    Status reopen();

private:
    LogFile(std::filesystem::path path, std::size_t bytes_max)
        : path_(std::move(path)), bytes_max_(bytes_max) {}
    Status open_locked();
    void rotate();

    const std::filesystem::path path_;
    const std::size_t bytes_max_;
    std::mutex mutex_;
    Fd fd_;
    std::size_t bytes_{0};
};

}  // namespace base
