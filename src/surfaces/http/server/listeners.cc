#include "surfaces/http/server/listeners.h"

#include <array>
#include <cstring>
#include <optional>
#include <sstream>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

namespace http_surface {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr std::size_t kTableBytesMax = 8 * 1024 * 1024;
constexpr std::size_t kNameBytesMax = 256;
constexpr std::string_view kListening = "0A";

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

// The kernel's number of the socket that listens at the port.
std::optional<std::string> socket_inode(std::uint16_t port) {
    const std::string end = fmt::format(":{:04X}", port);
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        const auto text = base::read_file(table, kTableBytesMax);
        if (!text) continue;
        for (const auto line : base::split_lines(*text)) {
            // Number, local address, remote address, state, ..., the tenth is the inode.
            std::istringstream row{std::string(line)};
            std::array<std::string, 10> cells;
            for (auto& cell : cells) row >> cell;
            if (cells[1].ends_with(end) && cells[3] == kListening) return cells[9];
        }
    }
    return std::nullopt;
}

}  // namespace

std::string listener_at(std::uint16_t port) {
    const auto inode = socket_inode(port);
    if (!inode) return "another program";
    const std::string link = fmt::format("socket:[{}]", *inode);
    std::error_code failed;
    for (const auto& process : std::filesystem::directory_iterator("/proc", failed)) {
        const std::string pid = process.path().filename().string();
        if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
        std::error_code unreadable;  // Of another user, or gone meanwhile.
        for (const auto& file :
             std::filesystem::directory_iterator(process.path() / "fd", unreadable)) {
            if (std::filesystem::read_symlink(file.path(), unreadable) != link) continue;
            const auto name = base::read_file(process.path() / "comm", kNameBytesMax);
            return fmt::format("{} (process {})",
                               name ? base::printable(base::trim(*name)) : "a program", pid);
        }
    }
    return "another program";
}

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
