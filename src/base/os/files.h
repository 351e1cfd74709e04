// Files as whole values, and the descriptor that closes itself. Everything here blocks.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace base {

// Owns one open descriptor, or none (-1).
class Fd {
public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() { reset(); }
    Fd(Fd&& other) noexcept : fd_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    // Gives the descriptor away; the caller closes it.
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1);

private:
    int fd_{-1};
};

// The whole content of a regular file. One larger than `bytes_max`, or a folder, pipe or device, is
// InvalidInput; a missing one is NotFound.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max);

// Writes all of `bytes` to `fd`, however many calls that takes. False with errno set on failure.
bool write_all(int fd, std::string_view bytes);

// An open file that holds `bytes`, is read from its start, and exists in memory only.
Result<Fd> memory_file(std::string_view bytes);

// Replaces or creates `path`: readers see the old content or all of the new, and when this returns,
// so does a machine that loses power. The mode is exact, whatever the umask. A symbolic link at
// `path` is replaced, not followed. The folder must exist.
Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes, mode_t mode);

// Makes `path` and the folders above it that are missing, each with `mode` (less the umask).
// Folders that exist are left as they are; anything else in the way is a Conflict.
Status make_folders(const std::filesystem::path& path, mode_t mode);

}  // namespace base
