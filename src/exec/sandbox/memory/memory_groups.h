// Where this process may make control groups that bound memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sandbox {

// The folder of the control group file system in which a group for each command can be made; empty
// when there is none: the process was started where the system does not delegate groups to it.
// `membership` is the text of /proc/self/cgroup, `mounts` the folder /sys/fs/cgroup. Makes and
// removes a group to find out. Blocks on the file system; any thread.
std::string find_memory_groups(std::string_view membership, const std::filesystem::path& mounts);

}  // namespace sandbox
