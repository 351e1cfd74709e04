#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/sandbox/program/masks.h"
#include "exec/sandbox/program/memory_group.h"
#include "exec/sandbox/program/program.h"
#include "exec/sandbox/program/repository.h"

namespace sandbox {
namespace {

bool exists(const char* path) {
    return ::access(path, F_OK) == 0;
}

// What this user cannot read out here, the command cannot read inside: it has the same user and no
// privilege.
bool is_readable(const char* path) {
    return ::access(path, R_OK) == 0;
}

// One component after the other, for kernels without openat2.
int walk(const std::string& path) {
    int folder = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    std::size_t at = 1;
    while (folder >= 0 && at < path.size()) {
        const std::size_t end = path.find('/', at);
        const std::string name = path.substr(at, end - at);
        const int next =
            name == ".." ? -1 : ::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
        ::close(folder);
        folder = next;
        at = end == std::string::npos ? path.size() : end + 1;
    }
    struct stat info{};
    if (folder < 0 || (::fstat(folder, &info) == 0 && !S_ISLNK(info.st_mode))) return folder;
    ::close(folder);
    errno = ELOOP;
    return -1;
}

// Without links, so that the name leads where it led when it was judged.
int open_source(const Part& part) {
    open_how how{};
    how.flags = O_PATH;  // Inherited by bwrap.
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    long fd = ::syscall(SYS_openat2, AT_FDCWD, part.source.c_str(), &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
        fd = walk(part.source);
        if (fd >= 0) ::fcntl(static_cast<int>(fd), F_SETFD, 0);
    }
    require(fd >= 0, part.source.c_str());
    struct stat info{};
    require(::fstat(static_cast<int>(fd), &info) == 0, part.source.c_str());
    if (info.st_dev == part.device && info.st_ino == part.inode) return static_cast<int>(fd);
    std::fprintf(stderr,
                 "holon: the command was not run: %s was replaced by another file or folder while "
                 "the command was prepared\n",
                 part.source.c_str());
    ::_exit(kCannotConfine);
}

int file_with(const std::string& text) {
    const int fd = ::memfd_create("holon", 0);
    require(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                ::lseek(fd, 0, SEEK_SET) == 0,
            "make a file");
    return fd;
}

// The arguments of bwrap, separated as it reads them from a file: command lines have a bound.
class Arguments {
public:
    template <class... Words>
    void add(const Words&... words) {
        ((text_ += std::string(words), text_ += '\0'), ...);
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

// Those of the plan. Settled when the command has ended.
std::vector<Repository> repositories;
// Removed then, too.
std::optional<MemoryGroup> group;

void add_repository(Arguments& list, const Part& part) {
    const auto& made = repositories.emplace_back(open_source(part), part.path);
    for (const auto& mount : made.mounts())
        list.add(mount.is_writable ? "--bind-fd" : "--ro-bind-fd", std::to_string(mount.fd),
                 mount.path);
}

// Programs expect these to be open to all.
bool is_shared(const std::string& path) {
    return path == "/tmp" || path == "/var/tmp" || path == "/dev/shm";
}

void add_part(Arguments& list, const Part& part) {
    switch (part.kind) {
        case Part::Kind::Repository:
            return add_repository(list, part);
        case Part::Kind::Bind:
            return list.add("--bind-fd", std::to_string(open_source(part)), part.path);
        case Part::Kind::ReadOnly:
            return list.add("--ro-bind-fd", std::to_string(open_source(part)), part.path);
        case Part::Kind::Folder:
            return list.add("--perms", is_shared(part.path) ? "1777" : "0755", "--size",
                            std::to_string(part.bytes_max), "--tmpfs", part.path);
        case Part::Kind::File:
            return list.add("--perms", "0444", "--file", std::to_string(file_with(part.text)),
                            part.path);
        case Part::Kind::Cover:
            return list.add("--ro-bind-data", std::to_string(file_with(part.text)), part.path);
        case Part::Kind::Link:
            return list.add("--symlink", part.source, part.path);
        case Part::Kind::CloseFolder:
            return list.add("--remount-ro", part.path);
    }
}

void add_proc(Arguments& list, const Plan& plan) {
    list.add("--dev", "/dev", "--proc", "/proc");
    if (plan.mounts_inside) return;  // It masks them itself.
    for (const char* path : kReadOnlyProc)
        if (exists(path)) list.add("--ro-bind", path, path);
    for (const char* path : kMaskedFiles)
        if (is_readable(path)) list.add("--ro-bind", "/dev/null", path);
    for (const char* path : kMaskedFolders)
        if (is_readable(path)) list.add("--tmpfs", path, "--remount-ro", path);
}

std::string arguments(const Plan& plan) {
    Arguments list;
    list.add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
             "--unshare-cgroup-try", "--hostname", "holon", "--die-with-parent", "--as-pid-1",
             "--cap-drop", "ALL");
    if (!plan.shares_network) list.add("--unshare-net");
    if (plan.mounts_inside) list.add("--cap-add", "CAP_SYS_ADMIN");  // holon-init drops it.
    // First what the masks lie on, then the masks, then what may lie anywhere.
    for (const auto& part : plan.parts)
        if (part.path == "/sys") add_part(list, part);
    add_proc(list, plan);
    for (const auto& part : plan.parts)
        if (part.path != "/sys" && part.kind != Part::Kind::CloseFolder) add_part(list, part);
    if (!plan.mounts_inside)
        for (const auto& part : read_settings()) add_part(list, part);
    for (const auto& part : plan.parts) {
        const bool is_filled_inside = plan.mounts_inside && part.path == kSettingsFolder;
        if (part.kind == Part::Kind::CloseFolder && !is_filled_inside) add_part(list, part);
    }
    list.add("--remount-ro", "/");
    return list.text();
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Opened here and without links: the folder may have been changed by an agent.
std::string log_path(const Plan& plan) {
    if (plan.network_log.empty()) return "/dev/null";
    open_how how{};
    how.flags = O_WRONLY | O_CREAT | O_APPEND;
    how.mode = 0600;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    long fd = ::syscall(SYS_openat2, AT_FDCWD, plan.network_log.c_str(), &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = ::open(plan.network_log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    require(fd >= 0, plan.network_log.c_str());
    return "/proc/self/fd/" + std::to_string(fd);
}

pid_t child = 0;
void pass_on(int signal) {
    if (child > 0) ::kill(child, signal);
}

// The sandbox dies with us, and we with the process that started us, but not before the git folders
// are settled.
[[noreturn]] void await_command() {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, pass_on);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    for (auto& repository : repositories) repository.settle();
    if (group) group->remove();
    if (WIFSIGNALED(status)) {
        ::signal(WTERMSIG(status), SIG_DFL);
        ::raise(WTERMSIG(status));
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : kCannotConfine);
}

}  // namespace

void enter(const Plan& plan) {
    // The numbers that the inside and the proxy use must stay free.
    require(::dup2(kPlanFd, kListenerFd) >= 0, "reserve a descriptor");
    std::vector<std::string> words;
    if (plan.has_proxy) {
        words = {"/proc/self/fd/" + std::to_string(kProxyProgramFd), "--fd",
                 std::to_string(kListenerFd), "--log", log_path(plan)};
        for (const auto& host : plan.allowed_hosts) words.insert(words.end(), {"--allow", host});
        words.emplace_back("--");
    }
    const std::size_t command = words.size();
    const int list = file_with(arguments(plan));
    words.insert(words.end(),
                 {plan.bwrap, "--args", std::to_string(list), "--",
                  "/proc/self/fd/" + std::to_string(kProgramFd), std::string(kInside)});
    char* const none[] = {nullptr};
    const char* program = words[plan.has_proxy ? 0 : command].c_str();
    const auto argv = pointers_to(words);
    if (!plan.memory_group.empty()) group.emplace(plan.memory_group, plan.memory_bytes);
    if (repositories.empty() && !group) {
        ::execve(program, argv.data(), none);
        give_up(program);
    }
    child = group ? group->fork_into() : ::fork();
    if (child == 0) {
        ::execve(program, argv.data(), none);
        ::_exit(kCannotConfine);
    }
    require(child > 0, "start a process");
    await_command();
}

}  // namespace sandbox
