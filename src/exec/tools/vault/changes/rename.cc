#include "exec/tools/vault/changes/rename.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace vault {
namespace {

bool move_folder(const Spot& from, const std::string& from_name, const Spot& to,
                 const std::string& to_name) {
    struct stat taken{};
    if (::fstatat(to.fd(), to_name.c_str(), &taken, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return false;
    }
    return ::renameat(from.fd(), from_name.c_str(), to.fd(), to_name.c_str()) == 0;
}

bool link_file(const Spot& from, const std::string& from_name, const Spot& to,
               const std::string& to_name) {
    if (::linkat(from.fd(), from_name.c_str(), to.fd(), to_name.c_str(), 0) != 0) {
        if (errno == EPERM || errno == ENOSYS || errno == EMLINK) errno = EOPNOTSUPP;
        return false;
    }
    if (::unlinkat(from.fd(), from_name.c_str(), 0) == 0) return true;
    const int why = errno;
    ::unlinkat(to.fd(), to_name.c_str(), 0);
    errno = why;
    return false;
}

}  // namespace

bool rename_to_free(const Spot& from, const std::string& from_name, const Spot& to,
                    const std::string& to_name) {
    if (::renameat2(from.fd(), from_name.c_str(), to.fd(), to_name.c_str(), RENAME_NOREPLACE) == 0)
        return true;
    // Also: a folder is to go into itself. Without the flag that has the same answer.
    if (errno != EINVAL && errno != ENOSYS) return false;
    struct stat moved{};
    if (::fstatat(from.fd(), from_name.c_str(), &moved, AT_SYMLINK_NOFOLLOW) != 0) return false;
    return S_ISDIR(moved.st_mode) ? move_folder(from, from_name, to, to_name)
                                  : link_file(from, from_name, to, to_name);
}

}  // namespace vault
