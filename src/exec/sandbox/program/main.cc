// holon-confine: puts one command behind the boundary. Static and small: it starts with every
// command. It lives inside the main program as bytes (see ../embedded.h), is started with an empty
// environment, and reads what to do from the sealed file at kPlanFd.
//
//     holon-confine                 makes the namespaces, and in them process 1, which builds the
//                                   confined world, sets the limits and runs the command
//     holon-confine-behind-proxy    the same, started by the proxy, which holon-confine has started
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec/sandbox/program/program.h"

namespace sandbox {

void give_up(const char* what) {
    std::fprintf(stderr, "holon: the command was not run: %s: %s\n", what, std::strerror(errno));
    ::_exit(kCannotConfine);
}

void require(bool good, const char* what) {
    if (!good) give_up(what);
}

int open_source(const Part& part) {
    const char* const path = part.source.c_str();
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const int fd = static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
    struct stat info{};
    const bool is_there = fd >= 0 && ::fstat(fd, &info) == 0;
    if (is_there && info.st_dev == part.device && info.st_ino == part.inode) return fd;
    require(is_there || errno == ENOENT, path);
    std::fprintf(stderr,
                 "holon: the command was not run: %s was replaced by another file or folder, or "
                 "removed, while the command was prepared\n",
                 path);
    ::_exit(kCannotConfine);
}

namespace {

// Mapped, and not copied: the settings are hundreds of pages.
std::string_view bytes_of(int file) {
    struct stat info{};
    require(::fstat(file, &info) == 0, "inspect what holon hands over");
    const auto size = static_cast<std::size_t>(info.st_size);
    void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    require(bytes != MAP_FAILED, "map what holon hands over");
    return {static_cast<const char*>(bytes), size};
}

template <class T>
T known(std::optional<T> value, const char* what) {
    errno = EINVAL;
    require(value.has_value(), what);
    return std::move(*value);
}

Plan read_plan() {
    return known(decode_plan(bytes_of(kPlanFd)), "its plan cannot be read");
}

}  // namespace

std::vector<PartView> read_settings() {
    return known(decode_parts(bytes_of(kSettingsFd)), "the system's settings cannot be read");
}

}  // namespace sandbox

int main(int argc, char** argv) {
    const std::string_view role = argc > 1 ? argv[1] : "";
    ::clearenv();
    sandbox::require(::chdir("/") == 0, "change to /");
    if (role == sandbox::kConfine) sandbox::enter(sandbox::read_plan());
    if (role == sandbox::kBehindProxy) sandbox::enter_behind_proxy(sandbox::read_plan());
    errno = EINVAL;
    sandbox::give_up("holon-confine is started by holon only");
}
