// holon-confine: puts one command behind the boundary. Static and small: it starts with every
// command. It lives inside the main program as bytes (see ../embedded.h), is started with an empty
// environment, and reads what to do from the sealed file at kPlanFd.
//
//     holon-confine        outside: opens the parts of the confined world and executes bwrap
//     holon-init           inside: process 1, which sets the limits and runs the command
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
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

namespace {

std::string bytes_of(int file) {
    std::string bytes;
    struct stat info{};
    require(::fstat(file, &info) == 0, "inspect what holon hands over");
    bytes.resize_and_overwrite(
        static_cast<std::size_t>(info.st_size), [&](char* to, std::size_t size) {
            std::size_t have = 0;
            ssize_t got = 0;
            while (have < size &&
                   (got = ::pread(file, to + have, size - have, static_cast<off_t>(have))) > 0)
                have += static_cast<std::size_t>(got);
            return have;
        });
    return bytes;
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

std::vector<Part> read_settings() {
    return known(decode_parts(bytes_of(kSettingsFd)), "the system's settings cannot be read");
}

}  // namespace sandbox

int main(int argc, char** argv) {
    const std::string_view role = argc > 1 ? argv[1] : "";
    ::clearenv();
    if (role == sandbox::kInside) return sandbox::run_inside(sandbox::read_plan());
    errno = EINVAL;
    sandbox::require(role == sandbox::kOutside, "holon-confine is started by holon only");
    sandbox::require(::chdir("/") == 0, "change to /");
    sandbox::enter(sandbox::read_plan());
}
