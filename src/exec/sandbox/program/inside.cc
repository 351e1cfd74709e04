#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/sandbox/program/hand_over.h"
#include "exec/sandbox/program/load_filter.h"
#include "exec/sandbox/program/program.h"
#include "exec/sandbox/program/world.h"

namespace sandbox {
namespace {

constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;
constexpr int kSignalBase = 128;
constexpr std::string_view kHostName = "holon";

void write_line(const char* path, const std::string& line) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    require(
        file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()),
        path);
    ::close(file);
}

// In the user namespace that this process is in, `inside` is `outside` of the one above it; all
// others are nobody.
void map_ids(uid_t inside_user, uid_t outside_user, gid_t inside_group, gid_t outside_group) {
    const auto line = [](unsigned inside, unsigned outside) {
        return std::to_string(inside) + " " + std::to_string(outside) + " 1\n";
    };
    write_line("/proc/self/uid_map", line(inside_user, outside_user));
    write_line("/proc/self/gid_map", line(inside_group, outside_group));
}

// An address of this machine that only the command's own processes reach.
void start_loopback() {
    const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq device{};
    std::strncpy(device.ifr_name, "lo", sizeof device.ifr_name - 1);
    device.ifr_flags = IFF_UP | IFF_RUNNING;
    require(any >= 0 && ::ioctl(any, SIOCSIFFLAGS, &device) == 0, "start the loopback network");
    ::close(any);
}

// Everything that needs privileges over the new namespaces. They belong to a user namespace in
// which this process is root, as some file systems require; the command gets one of its own below
// it, with the user's number and without any right over the first.
void fill_namespaces(const Plan& plan, const Starter& starter) {
    write_line("/proc/self/setgroups", "deny");
    map_ids(0, starter.user, 0, starter.group);
    ::unshare(CLONE_NEWCGROUP);  // Some kernels have none; it hides the name of a group only.
    require(::sethostname(kHostName.data(), kHostName.size()) == 0, "name the machine");
    if (!plan.shares_network) start_loopback();
    build_world(plan);
    require(::unshare(CLONE_NEWUSER) == 0, "make a user namespace for the command");
    map_ids(starter.user, 0, starter.group, 0);
}

void set_limit(decltype(RLIMIT_CPU) which, rlim_t value, const char* name) {
    if (value == 0) return;
    const rlimit limit{value, value};
    require(::setrlimit(which, &limit) == 0, name);
}

// SIGXCPU first, which shows the reason; SIGKILL for a process that ignores it.
void set_cpu_limit(rlim_t seconds) {
    constexpr rlim_t kGraceSeconds = 5;
    if (seconds == 0) return;
    const rlimit limit{seconds, seconds + kGraceSeconds};
    require(::setrlimit(RLIMIT_CPU, &limit) == 0, "limit of processor time");
}

void drop_privileges() {
    require(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0, "clear ambient");
    unsigned long capability = 0;
    while (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) ++capability;
    require(errno == EINVAL && capability > CAP_SYS_ADMIN, "drop of a capability");
    require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    require(::syscall(SYS_capset, &header, none) == 0, "give up capabilities");
}

// Last, for the kernel forgets it when privileges change. A starter that had ended before sends no
// signal.
void die_with(const Starter& starter) {
    require(::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "die with holon-confine");
    pollfd state{starter.alive, 0, 0};
    if (::poll(&state, 1, 0) != 0) ::_exit(kCannotConfine);
}

void set_limits(const Plan& plan) {
    set_cpu_limit(plan.cpu_s);
    set_limit(RLIMIT_DATA, plan.memory_bytes, "limit of memory");
    set_limit(RLIMIT_NPROC, plan.processes, "limit of processes");
    set_limit(RLIMIT_FSIZE, plan.file_bytes, "limit of file size");
    set_limit(RLIMIT_NOFILE, plan.open_files, "limit of open files");
    const rlimit no_core{0, 0};
    require(::setrlimit(RLIMIT_CORE, &no_core) == 0, "limit of core dumps");
}

std::vector<char*> pointers_to(std::vector<std::string> words) {
    static std::vector<std::vector<std::string>> kept;  // Until the program is replaced.
    std::vector<char*> pointers;
    for (auto& word : kept.emplace_back(std::move(words))) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

// The command's own PATH decides, as in a shell.
[[noreturn]] void execute(const std::vector<char*>& argv) {
    ::execvp(argv[0], argv.data());
    const int failed = errno;
    std::fprintf(stderr, "holon: %s: %s\n", argv[0], std::strerror(failed));
    ::_exit(failed == ENOENT ? kNotFound : kCannotRun);
}

// The end of the command is the end of process 1, and with it of everything that is left.
int collect(pid_t command) {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, 0);
        if (ended < 0 && errno == EINTR) continue;
        if (ended < 0) return kCannotConfine;
        if (ended != command) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
    }
}

}  // namespace

int run_inside(const Plan& plan, const Starter& starter) {
    errno = EINVAL;
    require(!plan.argv.empty(), "no command is named");
    // A session of its own: a signal to the whole group must not reach processes outside.
    if (!::isatty(STDIN_FILENO)) ::setsid();
    fill_namespaces(plan, starter);
    drop_privileges();
    // Commands must not write the memory of process 1, which they could then act through.
    require(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "protect the memory of process 1");
    if (plan.has_proxy) require(hand_over_listener(kProxyPort, kListenerFd), "way to the network");
    die_with(starter);
    require(::close_range(STDERR_FILENO + 1, ~0U, 0) == 0, "close descriptors of the host");
    require(plan.folder.empty() || ::chdir(plan.folder.c_str()) == 0, plan.folder.c_str());
    set_limits(plan);
    if (const int failed = load_filter(); failed != 0) {
        errno = -failed;
        give_up("system call filter");
    }
    const auto argv = pointers_to(plan.argv);
    auto environment = pointers_to(plan.environment);
    environ = environment.data();
    // Not fork(), which copies the page tables of this process: the child executes or ends at once.
    // Not posix_spawn(), which cannot start a script without the name of its interpreter.
    const pid_t command = ::vfork();  // NOLINT(bugprone-unsafe-functions)
    require(command >= 0, "start a process");
    if (command == 0) execute(argv);
    // The streams are the command's alone: a reader of its output sees the end of it.
    ::close_range(STDIN_FILENO, STDERR_FILENO, 0);
    return collect(command);
}

}  // namespace sandbox
