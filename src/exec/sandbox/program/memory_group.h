// A control group that bounds the memory of one command as a whole, shared memory included: the
// limits of processes count neither shared mappings nor files in memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace sandbox {

class MemoryGroup {
public:
    // Makes a group in `parent`, a folder of the control group file system that the runtime found
    // fit (see ../memory/memory_groups.h). Ends the program when it cannot.
    MemoryGroup(const std::string& parent, std::uint64_t bytes_max);

    // As fork(), with the child in the group and in new namespaces (CLONE_NEW...). Moving a process
    // into a group by its number makes the kernel wait for all processors, ten milliseconds and
    // more; both ways that are used here do not. A child that cannot enter ends with
    // kCannotConfine.
    pid_t fork_into(std::uint64_t namespaces) const;
    // Removes the group, when its processes have ended.
    void remove() const;

private:
    std::string folder_;
    bool is_first_version_{false};
};

}  // namespace sandbox
