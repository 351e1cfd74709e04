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

Plan read_plan() {
    std::string bytes;
    char piece[16 * 1024];
    ssize_t got = 0;
    while ((got = ::pread(kPlanFd, piece, sizeof piece, static_cast<off_t>(bytes.size()))) > 0)
        bytes.append(piece, static_cast<std::size_t>(got));
    auto plan = decode(bytes);
    errno = EINVAL;
    require(got == 0 && plan.has_value(), "its plan cannot be read");
    return std::move(*plan);
}

}  // namespace
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
