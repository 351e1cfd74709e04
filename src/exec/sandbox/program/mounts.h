// Mounts by descriptor (Linux 5.12): a name is resolved once, and no table of mounts is read, which
// takes longer than the mount itself. Every function ends the program when the kernel refuses;
// `what` is then named.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

namespace sandbox {

// A detached copy of what `source`, an open file or folder, shows, with all mounts below it. Each
// of them gets `attributes` (MOUNT_ATTR_...) in addition to those that it has.
int copy_of(int source, std::uint64_t attributes, const char* what);

// A new, detached file system. An option without a value is a flag.
using Option = std::pair<const char*, const char*>;
int new_file_system(const char* type, std::initializer_list<Option> options,
                    std::uint64_t attributes);

// Puts the detached `mount` on `target`, an open file or folder. `mount` stays open: its root.
void attach(int mount, int target, const char* what);

// The mount whose root is `root` becomes read-only; those below it do not change.
void make_read_only(int root, const char* what);

// No mount of this namespace receives mounts from another one, or sends its own.
void make_all_private();

// `root`, the root of an attached mount, becomes the root and the folder of this process, and the
// old root is detached with everything below it.
void change_root(int root);

}  // namespace sandbox
