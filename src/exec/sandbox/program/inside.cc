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
#include <sys/wait.h>
#include <unistd.h>

#include "exec/sandbox/program/hand_over.h"
#include "exec/sandbox/program/load_filter.h"
#include "exec/sandbox/program/masks.h"
#include "exec/sandbox/program/program.h"

namespace sandbox {
namespace {

constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;
constexpr int kSignalBase = 128;

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

bool is_there(const char* path) {
    struct stat info{};
    return ::lstat(path, &info) == 0;
}

// See masks.h. All of it or nothing: a mask that cannot be made ends the program.
void mask_proc() {
    constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
    for (const char* path : kReadOnlyProc)
        if (is_there(path))
            require(
                ::mount(path, path, nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
                    ::mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | kFlags, nullptr) == 0,
                path);
    for (const char* path : kMaskedFiles)
        if (is_there(path))
            require(::mount("/dev/null", path, nullptr, MS_BIND, nullptr) == 0, path);
    for (const char* path : kMaskedFolders)
        if (is_there(path))
            require(::mount("tmpfs", path, "tmpfs", kFlags, "size=4k,nr_inodes=2,mode=0555") == 0,
                    path);
}

void make_parents(const std::string& path) {
    const std::size_t first = std::string_view(kSettingsFolder).size() + 1;
    for (std::size_t at = path.find('/', first); at != std::string::npos;
         at = path.find('/', at + 1))
        require(::mkdir(path.substr(0, at).c_str(), 0755) == 0 || errno == EEXIST, path.c_str());
}

void write_file(const std::string& path, const std::string& text) {
    const int file =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    require(
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
        path.c_str());
    ::close(file);
}

void place_settings() {
    for (const auto& part : read_settings()) {
        make_parents(part.path);
        if (part.kind == Part::Kind::Link)
            require(::symlink(part.source.c_str(), part.path.c_str()) == 0, part.path.c_str());
        else
            write_file(part.path, part.text);
    }
    require(::mount(nullptr, kSettingsFolder, nullptr,
                    MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_RDONLY, nullptr) == 0,
            "close the folder of settings");
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
[[noreturn]] void execute(const Plan& plan) {
    const auto argv = pointers_to(plan.argv);
    auto environment = pointers_to(plan.environment);
    environ = environment.data();
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

int run_inside(const Plan& plan) {
    errno = EINVAL;
    require(!plan.argv.empty(), "no command is named");
    // A session of its own: a signal to the whole group must not reach processes outside.
    if (!::isatty(STDIN_FILENO)) ::setsid();
    ::umask(022);
    if (plan.bounds_process_table) bound_process_table(plan.processes);
    if (plan.mounts_inside) {
        mask_proc();
        place_settings();
    }
    drop_privileges();
    // Commands must not write the memory of process 1, which they could then act through.
    require(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "protect the memory of process 1");
    if (plan.has_proxy) require(hand_over_listener(kProxyPort, kListenerFd), "way to the network");
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    require(plan.folder.empty() || ::chdir(plan.folder.c_str()) == 0, plan.folder.c_str());
    set_limits(plan);
    if (const int failed = load_filter(); failed != 0) {
        errno = -failed;
        give_up("system call filter");
    }
    const pid_t command = ::fork();
    require(command >= 0, "start a process");
    if (command == 0) execute(plan);
    // The streams are the command's alone: a reader of its output sees the end of it.
    ::close_range(STDIN_FILENO, STDERR_FILENO, 0);
    return collect(command);
}

}  // namespace sandbox
