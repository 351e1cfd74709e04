#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/sandbox/program/memory_group.h"
#include "exec/sandbox/program/program.h"
#include "exec/sandbox/program/repository.h"

namespace sandbox {
namespace {

// Those of the plan. Settled when the command has ended.
std::vector<Repository> repositories;
// Removed then, too.
std::optional<MemoryGroup> group;

// Puts the private views of git folders into the plan, each in the place of its folder. world.cc
// compares what it mounts of them again.
void show_repositories(Plan& plan) {
    std::vector<Part> parts;
    for (auto& part : plan.parts) {
        if (part.kind != Part::Kind::Repository) {
            parts.push_back(std::move(part));
            continue;
        }
        const auto& made = repositories.emplace_back(open_source(part), part.path).parts();
        parts.insert(parts.end(), made.begin(), made.end());
    }
    plan.parts = std::move(parts);
}

// Opened here and without links: the folder may have been changed by an agent.
std::string log_path(const Plan& plan) {
    if (plan.network_log.empty()) return "/dev/null";
    open_how how{};
    how.flags = O_WRONLY | O_CREAT | O_APPEND;
    how.mode = 0600;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const long fd = ::syscall(SYS_openat2, AT_FDCWD, plan.network_log.c_str(), &how, sizeof how);
    require(fd >= 0, plan.network_log.c_str());
    return "/proc/self/fd/" + std::to_string(fd);
}

// The plan for the second start of this program, in the place of the first.
void replace_plan(const Plan& plan) {
    const std::string bytes = encode(plan);
    const int file = ::memfd_create("holon-plan", MFD_CLOEXEC);
    require(file >= 0 &&
                ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                ::dup2(file, kPlanFd) == kPlanFd,
            "hand the plan on");
}

[[noreturn]] void execute_proxy(const Plan& plan) {
    replace_plan(plan);
    std::vector<std::string> words{"/proc/self/fd/" + std::to_string(kProxyProgramFd), "--fd",
                                   std::to_string(kListenerFd), "--log", log_path(plan)};
    for (const auto& host : plan.allowed_hosts) words.insert(words.end(), {"--allow", host});
    words.insert(words.end(),
                 {"--", "/proc/self/fd/" + std::to_string(kProgramFd), std::string(kBehindProxy)});
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    char* const none[] = {nullptr};
    ::execve(argv[0], argv.data(), none);
    give_up("start the proxy");
}

pid_t start(std::uint64_t namespaces) {
    const pid_t child = group ? group->fork_into(namespaces) : fork_into(namespaces);
    require(child >= 0, namespaces == 0 ? "start a process" : "make namespaces");
    return child;
}

// Process 1 of the sandbox, in namespaces of its own.
pid_t start_inside(const Plan& plan) {
    std::uint64_t namespaces =
        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    if (!plan.shares_network) namespaces |= CLONE_NEWNET;
    int alive[2];
    require(::pipe2(alive, O_CLOEXEC) == 0, "make a pipe");
    const Starter starter{.user = ::geteuid(), .group = ::getegid(), .alive = alive[0]};
    const pid_t child = start(namespaces);
    if (child == 0) {
        ::close(alive[1]);
        ::_exit(run_inside(plan, starter));
    }
    ::close(alive[0]);
    return child;
}

pid_t child = 0;
int child_signal = 0;            // What ends `child`.
volatile sig_atomic_t received;  // The signal that ends us.
void pass_on(int signal) {
    received = signal;
    if (child > 0) ::kill(child, child_signal);
}

// The sandbox dies with us, and we with the process that started us, but not before the git folders
// are settled.
[[noreturn]] void await(pid_t started, int signal_to_end_it) {
    child = started;
    child_signal = signal_to_end_it;
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, pass_on);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    for (auto& repository : repositories) repository.settle();
    if (group) group->remove();
    if (WIFSIGNALED(status)) {
        const int ended_by = received != 0 ? received : WTERMSIG(status);
        ::signal(ended_by, SIG_DFL);
        ::raise(ended_by);
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : kCannotConfine);
}

// Process 1 of a process namespace gets no other signal that it does not handle.
[[noreturn]] void await_inside(pid_t inside) {
    await(inside, SIGKILL);
}

}  // namespace

pid_t fork_into(std::uint64_t namespaces, int group) {
    clone_args how{};
    how.flags = namespaces;
    how.exit_signal = SIGCHLD;
    if (group < 0)
        return static_cast<pid_t>(::syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0));
    how.flags |= CLONE_INTO_CGROUP;
    how.cgroup = static_cast<std::uint64_t>(group);
    return static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
}

void enter(Plan plan) {
    show_repositories(plan);
    if (!plan.memory_group.empty()) group.emplace(plan.memory_group, plan.memory_bytes);
    if (!plan.has_proxy) await_inside(start_inside(plan));
    const pid_t proxy = start(0);
    if (proxy == 0) execute_proxy(plan);
    await(proxy, SIGTERM);
}

void enter_behind_proxy(const Plan& plan) {
    await_inside(start_inside(plan));
}

}  // namespace sandbox
