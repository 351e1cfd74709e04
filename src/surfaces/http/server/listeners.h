// Sockets to accept on, made safely.
#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

#include "base/os/files.h"
#include "base/result.h"

namespace http_surface {

// The program that listens at a TCP port of this machine: "nginx (process 123)". "another program"
// when it cannot be seen, as that of another user.
std::string listener_at(std::uint16_t port);

inline constexpr int kBacklog = 1024;

// A listening socket at `path` that only its owner can open, from its first moment on. A socket
// that nobody listens at is replaced; anything else there is a Conflict and is not touched.
class UnixSocket {
public:
    static base::Result<UnixSocket> listen(const std::filesystem::path& path);
    ~UnixSocket();  // Removes the file, unless another socket has taken its place.
    UnixSocket(UnixSocket&&) = default;
    UnixSocket& operator=(UnixSocket&&) = delete;

    // Gives the descriptor away; this object still owns the file.
    int release() { return fd_.release(); }

private:
    UnixSocket(base::Fd fd, std::filesystem::path path, ino_t inode, dev_t device)
        : fd_(std::move(fd)), path_(std::move(path)), inode_(inode), device_(device) {}

    base::Fd fd_;
    std::filesystem::path path_;
    ino_t inode_{0};
    dev_t device_{0};
};

}  // namespace http_surface
