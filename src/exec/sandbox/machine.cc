#include "exec/sandbox/machine.h"

#include <cerrno>
#include <cstdio>

#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/os/spawn.h"
#include "base/text.h"
#include "exec/sandbox/confine.h"
#include "exec/sandbox/embedded.h"
#include "exec/sandbox/memory/memory_groups.h"
#include "exec/sandbox/program/program.h"

namespace sandbox {
namespace {

constexpr std::size_t kMembershipBytesMax = 64 * 1024;

bool is_at_least(const utsname& kernel, int major, int minor) {
    int has_major = 0;
    int has_minor = 0;
    if (std::sscanf(kernel.release, "%d.%d", &has_major, &has_minor) != 2) return false;
    return std::pair(has_major, has_minor) >= std::pair(major, minor);
}

// What holon-confine wrote to `errors`, without the words that every failure of it starts with.
std::string failure_in(const base::Fd& errors) {
    std::string said(1024, '\0');
    const ssize_t got = ::read(errors.get(), said.data(), said.size());
    said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    if (const std::string_view head = "holon: the command was not run: "; said.starts_with(head))
        said.erase(0, head.size());
    return base::printable(base::to_utf8(said));
}

// Runs a command in the smallest world there is: that alone shows what containers, kernel settings
// and security modules allow.
base::Status run_confined(Machine machine) {
    machine.namespaces = true;
    machine.is_root = false;  // Bounds that are checked apart are left out.
    machine.memory_group.clear();
    const auto spec = TRY(confine({.argv = {"/bin/true"}}, {}, machine));
    const auto errors = TRY(base::make_pipe());
    pid_t pid = 0;
    if (const int error = base::spawn(spec.argv[0], spec, {.err = errors.write.get()}, pid))
        return base::spawn_failure(error, "holon-confine");
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    // A system without this program ends it with another status, and confined.
    if (WIFEXITED(status) && WEXITSTATUS(status) != kCannotConfine) return {};
    auto said = failure_in(errors.read);
    if (said.empty()) said = "it ended with status " + std::to_string(status);
    return base::fail(base::ErrorCode::Unavailable, "{}", said);
}

}  // namespace

Machine probe() {
    utsname kernel{};
    ::uname(&kernel);
    Machine machine{.version = std::string("Linux ") + kernel.release,
                    .memory_files = programs().has_value(),
                    .mounts_by_fd = is_at_least(kernel, 5, 12),
                    .seccomp = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0,
                    .is_root = ::geteuid() == 0,
                    .bounded_process_table = is_at_least(kernel, 6, 14),
                    .memory_group = find_memory_groups(
                        base::read_file("/proc/self/cgroup", kMembershipBytesMax).value_or(""),
                        "/sys/fs/cgroup")};
    if (!machine.memory_files || !machine.mounts_by_fd || !machine.seccomp) return machine;
    const auto ran = run_confined(machine);
    machine.namespaces = ran.has_value();
    if (!ran) machine.failure = ran.error().message;
    return machine;
}

const Machine& this_machine() {
    static const Machine machine = probe();
    return machine;
}

std::vector<std::string> missing(const Machine& machine) {
    std::vector<std::string> list;
    if (!machine.memory_files)
        list.emplace_back(
            "the kernel has no sealed memory files that can be executed; set "
            "vm.memfd_noexec=0");
    if (!machine.mounts_by_fd)
        list.emplace_back(
            "the kernel cannot mount by descriptor (mount_setattr); use Linux 5.12 or newer");
    if (!machine.seccomp)
        list.emplace_back("the kernel has no seccomp; use one with CONFIG_SECCOMP_FILTER");
    if (list.empty() && !machine.namespaces)
        list.push_back("namespaces cannot be made here (" + machine.failure +
                       "); allow user namespaces (sysctl user.max_user_namespaces=15000, "
                       "kernel.unprivileged_userns_clone=1 or "
                       "kernel.apparmor_restrict_unprivileged_userns=0), or run the container with "
                       "them");
    if (machine.is_root && !machine.bounded_process_table)
        list.emplace_back(
            "the number of processes cannot be bounded for root on this kernel; run "
            "holon as another user, or use kernel 6.14 or newer");
    return list;
}

std::vector<std::string> weaker(const Machine& machine) {
    std::vector<std::string> list;
    if (machine.memory_group.empty())
        list.emplace_back(
            "memory is bounded for each process; shared memory and the memory of a command as a "
            "whole are not: holon was started where it may make no control groups. Start it as a "
            "service of your user (systemctl --user), or by systemd-run --user --scope");
    if (machine.is_root)
        list.emplace_back(
            "commands run as root in a user namespace of their own: every file of this machine "
            "that "
            "they see belongs to them; run holon as an ordinary user");
    return list;
}

}  // namespace sandbox
