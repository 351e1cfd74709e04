// holon-init: the first program inside the sandbox. Sets the limits and the system call filter,
// drops every privilege and executes the command. Static and small: it starts with every command.
//
//     holon-init --cpu S --memory BYTES --processes N --file BYTES --files N [--bound-table]
//     [--proxy PORT FD] -- ARGV…
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec/sandbox/init/filter.h"
#include "exec/sandbox/init/hand_over.h"

namespace {

constexpr int kCannotConfine = 125;  // As env(1) and timeout(1) have it: our own failure.
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "holon-init: the command was not run: %s: %s\n", what,
                 std::strerror(errno));
    ::_exit(kCannotConfine);
}

void require(bool good, const char* what) {
    if (!good) give_up(what);
}

struct Options {
    rlim_t cpu_s{0};
    rlim_t memory_bytes{0};
    rlim_t processes{0};
    rlim_t file_bytes{0};
    rlim_t open_files{0};
    bool bound_table{false};
    unsigned short proxy_port{0};
    int proxy_fd{-1};
    char** argv{nullptr};
};

rlim_t number(const char* text) {
    char* end = nullptr;
    errno = 0;
    const auto value = std::strtoull(text ? text : "", &end, 10);
    if (errno != 0 || !text || *text == '\0' || *end != '\0') {
        errno = EINVAL;
        give_up("a limit is not a number");
    }
    return value;
}

Options parse(char** words) {
    Options options;
    for (++words; *words; ++words) {
        const auto is = [&](const char* name) { return std::strcmp(*words, name) == 0; };
        if (is("--")) {
            options.argv = words + 1;
            break;
        }
        if (is("--bound-table")) {
            options.bound_table = true;
            continue;
        }
        if (is("--proxy") && words[1] && words[2]) {
            options.proxy_port = static_cast<unsigned short>(number(*++words));
            options.proxy_fd = static_cast<int>(number(*++words));
            continue;
        }
        rlim_t* limit = is("--cpu")         ? &options.cpu_s
                        : is("--memory")    ? &options.memory_bytes
                        : is("--processes") ? &options.processes
                        : is("--file")      ? &options.file_bytes
                        : is("--files")     ? &options.open_files
                                            : nullptr;
        if (!limit || !words[1]) {
            errno = EINVAL;
            give_up(*words);
        }
        *limit = number(*++words);
    }
    if (!options.argv || !*options.argv) {
        errno = EINVAL;
        give_up("no command is named");
    }
    return options;
}

// Root is exempt from the limit on its processes. The size of the sandbox's own process table is
// not; it is written through a proc of our own, for the one that commands see is read-only there.
void bound_process_table(rlim_t processes) {
    constexpr rlim_t kTableMin = 301;  // The kernel's own least.
    const char* folder = "/tmp/.holon-proc";
    require(::mkdir(folder, 0700) == 0, "mkdir for the process table");
    require(::mount("proc", folder, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0,
            "mount of the process table");
    char path[64];
    std::snprintf(path, sizeof path, "%s/sys/kernel/pid_max", folder);
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    require(file >= 0, "open of pid_max");
    char text[32];
    const int length = std::snprintf(
        text, sizeof text, "%llu\n",
        static_cast<unsigned long long>(processes < kTableMin ? kTableMin : processes));
    require(::write(file, text, static_cast<std::size_t>(length)) == length, "write of pid_max");
    ::close(file);
    require(::umount(folder) == 0, "umount of the process table");
    require(::rmdir(folder) == 0, "rmdir for the process table");
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
    for (unsigned long capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0;
         ++capability)
        if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1 &&
            ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM)
            give_up("drop of a capability");
    require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    require(::syscall(SYS_capset, &header, none) == 0, "give up capabilities");
}

}  // namespace

int main(int, char** argv) {
    const Options options = parse(argv);
    // A group of its own: a signal to the whole group must not reach those outside.
    if (!::isatty(STDIN_FILENO)) ::setsid();
    if (options.bound_table) bound_process_table(options.processes);
    drop_privileges();
    ::umask(022);
    if (options.proxy_fd >= 0)
        require(sandbox::hand_over_listener(options.proxy_port, options.proxy_fd),
                "way to the network");
    set_cpu_limit(options.cpu_s);
    set_limit(RLIMIT_DATA, options.memory_bytes, "limit of memory");
    set_limit(RLIMIT_NPROC, options.processes, "limit of processes");
    set_limit(RLIMIT_FSIZE, options.file_bytes, "limit of file size");
    set_limit(RLIMIT_NOFILE, options.open_files, "limit of open files");
    const rlimit no_core{0, 0};
    require(::setrlimit(RLIMIT_CORE, &no_core) == 0, "limit of core dumps");
    if (const int failed = sandbox::load_filter(); failed != 0) {
        errno = -failed;
        give_up("system call filter");
    }
    ::execvp(options.argv[0], options.argv);
    const int failed = errno;
    std::fprintf(stderr, "holon: %s: %s\n", options.argv[0], std::strerror(failed));
    ::_exit(failed == ENOENT ? kNotFound : kCannotRun);
}
