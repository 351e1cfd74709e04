#include "exec/sandbox/program/memory_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "exec/sandbox/program/program.h"

namespace sandbox {
namespace {

bool write_value(const std::string& file, const std::string& value) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool is_written =
        ::write(fd, value.data(), value.size()) == static_cast<ssize_t>(value.size());
    ::close(fd);
    return is_written;
}

}  // namespace

MemoryGroup::MemoryGroup(const std::string& parent, std::uint64_t bytes_max)
    : folder_(parent + "/holon-" + std::to_string(::getpid())) {
    ::rmdir(folder_.c_str());  // Of a process that had our number and was killed.
    require(::mkdir(folder_.c_str(), 0755) == 0, folder_.c_str());
    const std::string bytes = std::to_string(bytes_max);
    is_first_version_ = write_value(folder_ + "/memory.limit_in_bytes", bytes);
    if (!is_first_version_ && !write_value(folder_ + "/memory.max", bytes)) {
        ::rmdir(folder_.c_str());
        give_up("bound the memory of a control group");
    }
    // Where there is no swap, these do not exist.
    write_value(folder_ + "/memory.swap.max", "0");
    write_value(folder_ + "/memory.memsw.limit_in_bytes", bytes);
    write_value(folder_ + "/memory.oom.group", "1");
}

pid_t MemoryGroup::fork_into(std::uint64_t namespaces) const {
    if (!is_first_version_) {
        const int group = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        const pid_t child = sandbox::fork_into(namespaces, group);
        if (child >= 0 || errno != ENOSYS) return child;
    }
    const pid_t child = sandbox::fork_into(namespaces);
    if (child != 0) return child;
    // A thread that moves itself is moved alone, which is all of this process.
    const bool is_in =
        write_value(folder_ + "/tasks", "0") || write_value(folder_ + "/cgroup.procs", "0");
    if (!is_in) ::_exit(kCannotConfine);
    return 0;
}

void MemoryGroup::remove() const {
    // The last process may not be collected yet.
    constexpr int kTries = 100;
    for (int n = 0; n < kTries && ::rmdir(folder_.c_str()) != 0; ++n) ::usleep(1000);
}

}  // namespace sandbox
