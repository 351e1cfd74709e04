// holon-filter FILE: writes the system call filter of this architecture, as the kernel reads it.
// Runs when holon is built: with every command it would take a tenth of the time of confinement.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace sandbox {
namespace {

// Calls that no build, test or editor needs and that change the machine, inspect other processes or
// make new namespaces. Allowing all else keeps ordinary programs working.
constexpr int kRefused[] = {
    // Other processes.
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(process_madvise),
    // Mounts and namespaces.
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(mount_setattr),
    // Opening files by handle bypasses paths.
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(open_by_handle_at),
    // The kernel itself.
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(syslog),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt),
    SCMP_SYS(vhangup),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(lookup_dcookie),
    SCMP_SYS(nfsservctl),
    SCMP_SYS(vm86),
    // Keys outlive the sandbox and are shared with those outside.
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    // Its requests would not pass this filter.
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
};

constexpr unsigned long kNewNamespaces[] = {CLONE_NEWNS,    CLONE_NEWUSER, CLONE_NEWPID,
                                            CLONE_NEWNET,   CLONE_NEWIPC,  CLONE_NEWUTS,
                                            CLONE_NEWCGROUP};

// Typing into the terminal of our parent.
constexpr unsigned long kTerminalTricks[] = {TIOCSTI, TIOCLINUX};

constexpr std::uint64_t kLow32 = 0xffffffffULL;  // The kernel reads no more of an int.

// O_TMPFILE without O_DIRECTORY, which is also in it.
constexpr std::uint64_t kTmpFileFlag = O_TMPFILE & ~O_DIRECTORY;
constexpr std::uint32_t kAsTree = 2;
// Newer than the headers of some systems: Linux 6.6.
constexpr int kFchmodat2 = 452;

class Filter {
public:
    Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW)) {
        // As a tree: the kernel tries each call when it loads the filter, in half the time.
        failed_ = ::seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, kAsTree);
    }
    ~Filter() { ::seccomp_release(context_); }
    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

    template <class... Conditions>
    void refuse(int call, int error, Conditions... conditions) {
        // A call that this machine does not have needs no rule.
        const int added = ::seccomp_rule_add(context_, SCMP_ACT_ERRNO(error), call,
                                             sizeof...(conditions), conditions...);
        if (added != 0 && added != -EINVAL && added != -EDOM && failed_ == 0) failed_ = added;
    }

    int write_to(int file) { return failed_ != 0 ? failed_ : ::seccomp_export_bpf(context_, file); }

private:
    scmp_filter_ctx context_;
    int failed_{0};
};

// Internet sockets, and the one netlink family that name lookup needs. Unix sockets of the host are
// reachable through any readable folder, so they are forbidden; socketpair is allowed.
void refuse_sockets(Filter& filter) {
    for (std::uint64_t family = 0; family < AF_NETLINK; ++family)
        if (family != AF_INET && family != AF_INET6)
            filter.refuse(SCMP_SYS(socket), EAFNOSUPPORT,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, family));
    filter.refuse(SCMP_SYS(socket), EAFNOSUPPORT, SCMP_A0(SCMP_CMP_GT, std::uint64_t{AF_NETLINK}));
    filter.refuse(SCMP_SYS(socket), EAFNOSUPPORT,
                  SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, std::uint64_t{AF_NETLINK}),
                  SCMP_A2(SCMP_CMP_NE, std::uint64_t{0}));
}

// A setuid copy of a shell in the workspace would make its caller the operator, after the command
// is over and for every user of the machine. The modes of openat2 lie in memory; programs fall
// back.
void refuse_set_id_modes(Filter& filter) {
    for (const std::uint64_t bit : {std::uint64_t{S_ISUID}, std::uint64_t{S_ISGID}}) {
        filter.refuse(SCMP_SYS(chmod), EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit));
        filter.refuse(SCMP_SYS(fchmod), EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit));
        filter.refuse(SCMP_SYS(fchmodat), EPERM, SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
        filter.refuse(kFchmodat2, EPERM, SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
        filter.refuse(SCMP_SYS(creat), EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit));
        filter.refuse(SCMP_SYS(mknod), EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit));
        filter.refuse(SCMP_SYS(mknodat), EPERM, SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
        // Without one of these flags the mode is whatever lay in the register.
        for (const std::uint64_t flag : {std::uint64_t{O_CREAT}, kTmpFileFlag}) {
            filter.refuse(SCMP_SYS(open), EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, flag, flag),
                          SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
            filter.refuse(SCMP_SYS(openat), EPERM, SCMP_A2(SCMP_CMP_MASKED_EQ, flag, flag),
                          SCMP_A3(SCMP_CMP_MASKED_EQ, bit, bit));
        }
    }
    filter.refuse(SCMP_SYS(openat2), ENOSYS);
}

int write_filter(int file) {
    Filter filter;
    for (const int call : kRefused) filter.refuse(call, EPERM);
    for (const auto flag : kNewNamespaces)
        filter.refuse(SCMP_SYS(clone), EPERM, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    // Its flags lie in memory, which a filter cannot read; the C library falls back to clone.
    filter.refuse(SCMP_SYS(clone3), ENOSYS);
    for (const auto request : kTerminalTricks)
        filter.refuse(SCMP_SYS(ioctl), EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, kLow32, request));
    refuse_sockets(filter);
    refuse_set_id_modes(filter);
    return filter.write_to(file);
}

}  // namespace
}  // namespace sandbox

int main(int argc, char** argv) {
    const int file =
        argc == 2 ? ::open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    const int failed = file < 0 ? -EINVAL : sandbox::write_filter(file);
    if (failed != 0) std::fprintf(stderr, "holon-filter: %s\n", std::strerror(-failed));
    return failed == 0 ? 0 : 1;
}
