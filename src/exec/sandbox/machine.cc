#include "exec/sandbox/machine.h"

#include <cstdio>
#include <cstdlib>

#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/text.h"
#include "exec/sandbox/embedded.h"
#include "exec/sandbox/memory/memory_groups.h"

namespace sandbox {
namespace {

// In the folders where systems install programs; PATH belongs to the user and proves nothing.
std::filesystem::path find_bwrap() {
    for (const char* folder : {"/usr/bin", "/bin", "/usr/local/bin"}) {
        const auto file = std::filesystem::path(folder) / "bwrap";
        if (::access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

bool kernel_is_at_least(int major, int minor) {
    utsname name{};
    int has_major = 0;
    int has_minor = 0;
    if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &has_major, &has_minor) != 2)
        return false;
    return std::pair(has_major, has_minor) >= std::pair(major, minor);
}

constexpr std::size_t kMembershipBytesMax = 64 * 1024;

struct Ran {
    int status{-1};
    std::string said{};
};

// `command` consists of fixed text; it contains no user input.
Ran run(const std::string& command) {
    FILE* pipe = ::popen(("{ " + command + "; } 2>&1 </dev/null").c_str(), "re");
    if (!pipe) return {-1, "it could not be started"};
    std::string said(1024, '\0');
    said.resize(std::fread(said.data(), 1, said.size(), pipe));
    const int status = ::pclose(pipe);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return {status, base::to_utf8(said)};
}

// Runs bwrap twice, in one shell: for its version ("bubblewrap 0.8.0"), and once for real, which
// alone shows what containers and kernel settings allow.
void try_bwrap(Machine& machine) {
    const std::string bwrap = machine.bwrap.string();
    const auto [status, said] =
        run(bwrap + " --version && " + bwrap +
            " --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net "
            "--die-with-parent --as-pid-1 --ro-bind-fd 3 / --dev /dev --proc /proc --tmpfs /tmp "
            "/bin/true 3</");
    const auto line = std::min(said.find('\n'), said.size());
    const auto first = std::string_view(said).substr(0, line);
    machine.version = base::printable(first.substr(first.rfind(' ') + 1));
    machine.namespaces = status == 0;
    if (machine.namespaces) return;
    machine.failure = line == said.size() ? "it ended with status " + std::to_string(status)
                                          : base::printable(said.substr(line + 1));
}

}  // namespace

Machine probe() {
    Machine machine{.bwrap = find_bwrap(),
                    .memory_files = programs().has_value(),
                    .is_root = ::geteuid() == 0,
                    .bounded_process_table = kernel_is_at_least(6, 14),
                    .memory_group = find_memory_groups(
                        base::read_file("/proc/self/cgroup", kMembershipBytesMax).value_or(""),
                        "/sys/fs/cgroup")};
    machine.seccomp = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    if (machine.bwrap.empty()) return machine;
    try_bwrap(machine);
    return machine;
}

const Machine& this_machine() {
    static const Machine machine = probe();
    return machine;
}

std::vector<std::string> missing(const Machine& machine) {
    std::vector<std::string> list;
    if (machine.bwrap.empty())
        list.emplace_back("bubblewrap is not installed; install the package bubblewrap");
    else if (machine.failure.contains("bind-fd"))
        list.push_back("bubblewrap " + machine.version +
                       " cannot mount open folders (--bind-fd); use version 0.10 or a package with "
                       "the security update of 2024");
    else if (!machine.namespaces)
        list.push_back("bubblewrap cannot make namespaces here (" + machine.failure +
                       "); allow user namespaces (sysctl user.max_user_namespaces=15000, "
                       "kernel.unprivileged_userns_clone=1 or "
                       "kernel.apparmor_restrict_unprivileged_userns=0), or run the container with "
                       "them");
    if (!machine.memory_files)
        list.emplace_back(
            "the kernel has no sealed memory files that can be executed; set "
            "vm.memfd_noexec=0");
    if (!machine.seccomp)
        list.emplace_back("the kernel has no seccomp; use one with CONFIG_SECCOMP_FILTER");
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
