#include "bench/support/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace bench {
namespace {

constexpr double kMbPerKib = 1024.0 / 1e6;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

ChildEnd run(const ChildSpec& spec) {
    const auto argv = pointers_to(spec.argv), environment = pointers_to(spec.environment);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (spec.out < 0)
        ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    else
        ::posix_spawn_file_actions_adddup2(&actions, spec.out, STDOUT_FILENO);
    if (spec.is_quiet)
        ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addchdir_np(&actions, spec.cwd.c_str());

    ChildEnd end{.started = std::chrono::steady_clock::now()};
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, spec.argv[0].c_str(), &actions, nullptr, argv.data(),
                                    environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return end;
    int status = 0;
    rusage usage{};
    CHECK(::wait4(pid, &status, 0, &usage) == pid, "a child can be waited for");
    end.took = std::chrono::steady_clock::now() - end.started;
    end.peak_mb = static_cast<double>(usage.ru_maxrss) * kMbPerKib;
    end.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return end;
}

double own_peak_mb() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * kMbPerKib;
}

}  // namespace bench
