#include "exec/sandbox/program/mounts.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec/sandbox/program/program.h"

namespace sandbox {

int copy_of(int source, std::uint64_t attributes, const char* what) {
    const int tree =
        ::open_tree(source, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    require(tree >= 0, what);
    mount_attr change{};
    change.attr_set = attributes;
    require(::mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) == 0,
            what);
    return tree;
}

int new_file_system(const char* type, std::initializer_list<Option> options,
                    std::uint64_t attributes) {
    const int context = ::fsopen(type, FSOPEN_CLOEXEC);
    require(context >= 0, type);
    for (const auto& [name, value] : options)
        require(::fsconfig(context, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, name, value,
                           0) == 0,
                type);
    require(::fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0, type);
    const int mount = ::fsmount(context, FSMOUNT_CLOEXEC, static_cast<unsigned int>(attributes));
    require(mount >= 0, type);
    ::close(context);
    return mount;
}

void attach(int mount, int target, const char* what) {
    require(
        ::move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0,
        what);
}

void make_read_only(int root, const char* what) {
    mount_attr change{};
    change.attr_set = MOUNT_ATTR_RDONLY;
    require(::mount_setattr(root, "", AT_EMPTY_PATH, &change, sizeof change) == 0, what);
}

void make_all_private() {
    mount_attr change{};
    change.propagation = MS_PRIVATE;
    require(::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &change, sizeof change) == 0,
            "make mounts private");
}

namespace {

std::uint64_t mount_of(int folder, const char* path) {
    struct statx info{};
    const int flags = path[0] == '\0' ? AT_EMPTY_PATH : 0;
    require(::statx(folder, path, flags, STATX_MNT_ID, &info) == 0 &&
                (info.stx_mask & STATX_MNT_ID) != 0,
            "inspect the root");
    return info.stx_mnt_id;
}

// What is mounted on the root is not seen at "/", but at "/..".
bool is_covered(int root) {
    return mount_of(AT_FDCWD, "/..") != mount_of(root, "");
}

}  // namespace

void change_root(int root) {
    // With the same folder for both, the old root lies on the new one until it is detached. There
    // is more than one mount to detach where others lie on the root of the host.
    constexpr int kMountsMax = 16;
    require(::fchdir(root) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0, "change the root");
    for (int n = 0; n < kMountsMax && is_covered(root); ++n)
        require(::umount2(".", MNT_DETACH) == 0, "detach the old root");
    errno = EBUSY;
    require(!is_covered(root) && ::chdir("/") == 0, "detach the old root");
}

}  // namespace sandbox
