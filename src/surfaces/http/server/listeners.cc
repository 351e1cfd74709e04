#include "surfaces/http/server/listeners.h"

#include <cstring>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace http_surface {
namespace {

constexpr mode_t kOwnerOnly = 0600;

// Clears `path` when it holds a socket that nobody listens at.
base::Status remove_stale(const std::filesystem::path& path, const sockaddr_un& address) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) {
        if (errno == ENOENT) return {};
        return base::fail_errno("check " + path.string());
    }
    if (!S_ISSOCK(found.st_mode))
        return base::fail(base::ErrorCode::Conflict,
                          "{} exists and is not a socket; move it, or set another socket path",
                          path.string());
    const base::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return base::fail_errno("make a socket");
    const int reached =
        ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (reached == 0 || errno != ECONNREFUSED)
        return base::fail(base::ErrorCode::Conflict,
                          "another program listens at {}; stop it, or set another socket path",
                          path.string());
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return base::fail_errno("remove the stale socket " + path.string());
    return {};
}

}  // namespace

base::Result<UnixSocket> UnixSocket::listen(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path)
        return base::fail(base::ErrorCode::InvalidInput,
                          "the socket path {} is longer than the {} bytes that the system allows; "
                          "set a shorter one",
                          path.string(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path, path.c_str(), path.native().size());
    TRY(remove_stale(path, address));
    base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return base::fail_errno("make a socket");
    // The file gets the mode that the socket has before it is bound, so there is no moment at which
    // others could open it, and the umask, which all threads share, is not changed.
    if (::fchmod(fd.get(), kOwnerOnly) != 0) return base::fail_errno("protect the socket");
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        if (errno == EADDRINUSE)
            return base::fail(base::ErrorCode::Conflict,
                              "another program has just taken {}; try again", path.string());
        return base::fail_errno("bind the socket " + path.string());
    }
    struct stat made{};
    if (::lstat(path.c_str(), &made) != 0) return base::fail_errno("check " + path.string());
    UnixSocket socket(std::move(fd), path, made.st_ino, made.st_dev);
    if (::chmod(path.c_str(), kOwnerOnly) != 0) return base::fail_errno("protect the socket");
    if (::listen(socket.fd_.get(), kBacklog) != 0)
        return base::fail_errno("listen at " + path.string());
    return socket;
}

UnixSocket::~UnixSocket() {
    if (path_.empty()) return;  // Moved from.
    struct stat found{};
    if (::lstat(path_.c_str(), &found) == 0 && found.st_ino == inode_ && found.st_dev == device_)
        ::unlink(path_.c_str());
}

}  // namespace http_surface
