// A file system that refuses what NFS and many FUSE ones do.
#pragma once

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

namespace vault {

// No flags of renameat2, no files without a name, no leases, no locks: for the calling thread and
// what it starts.
inline bool refuse_special_calls() {
    constexpr auto low = [](unsigned argument) {
        return static_cast<unsigned>(offsetof(seccomp_data, args)) + 8 * argument;
    };
    constexpr auto error = [](int number) {
        return SECCOMP_RET_ERRNO | static_cast<unsigned>(number);
    };
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low(4)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, 0),
        BPF_STMT(BPF_RET | BPF_K, error(EINVAL)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low(2)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 5),
        BPF_STMT(BPF_RET | BPF_K, error(EOPNOTSUPP)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low(1)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETLEASE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, error(ENOLCK)),
    };
    const sock_fprog filter{.len = static_cast<unsigned short>(std::size(program)),
                            .filter = program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// `work` on a thread to which the file system is like that.
template <class Work>
void on_plain_file_system(const Work& work) {
    std::thread([&] {
        ASSERT_TRUE(refuse_special_calls());
        work();
    }).join();
}

}  // namespace vault
