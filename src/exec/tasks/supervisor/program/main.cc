// The supervisor: starts one command, writes down what it prints and how it ends, and ends with it.
// As `holon-supervisor tether FILES PROGRAM ARGV0 ...` it keeps a server that must not outlive its
// starter.
//
// It lives inside the main program as bytes (see ../embedded.h) and is linked statically: loading
// the main program once more for each command would take ten times as long.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "exec/tasks/supervisor/program/supervision.h"
#include "exec/tasks/supervisor/program/tether.h"

int main(int argc, char** argv) {
    if (argc > 4 && std::string_view(argv[1]) == "tether") return supervisor::tether(argv + 2);
    ::signal(SIGPIPE, SIG_IGN);
    std::string bytes;
    char buffer[16 * 1024];
    ssize_t got = 0;
    while ((got = ::pread(supervisor::kRequestFd, buffer, sizeof buffer,
                          static_cast<off_t>(bytes.size()))) > 0)
        bytes.append(buffer, static_cast<std::size_t>(got));
    ::close(supervisor::kRequestFd);
    auto request = supervisor::decode(bytes);
    if (!request) return 2;
    int fd = supervisor::kFirstFileFd;
    for (auto& file : request->process.files) file = std::make_shared<base::Fd>(fd++);
    ::close_range(static_cast<unsigned>(fd), ~0U, 0);
    supervisor::Supervision(std::move(*request), base::Fd(supervisor::kControlFd)).run();
    return 0;
}
