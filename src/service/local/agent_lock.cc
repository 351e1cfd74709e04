#include "service/local/agent_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/text.h"

namespace service {

base::Result<base::Fd> lock_agent(const std::filesystem::path& agent_home,
                                  const std::string& agent) {
    const auto folder = agent_home / ".holon";
    TRY(base::make_folders(folder, 0700));
    const auto file = folder / "run.lock";
    base::Fd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return base::fail_errno("open " + file.string());
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        char holder[32] = {};
        const ssize_t size = pread(fd.get(), holder, sizeof holder - 1, 0);
        const std::string pid(
            base::trim(std::string_view(holder, size > 0 ? static_cast<std::size_t>(size) : 0)));
        return base::fail(
            base::ErrorCode::Conflict,
            "agent {} is being run by another process{}; wait for it to finish or stop it", agent,
            pid.empty() ? "" : " (pid " + base::printable(pid) + ")");
    }
    // Only for the message above; the lock itself is the kernel's.
    const std::string pid = std::to_string(getpid()) + "\n";
    if (ftruncate(fd.get(), 0) == 0) base::write_all(fd.get(), pid);
    return fd;
}

base::Result<std::shared_ptr<void>> AgentLocks::take(const std::filesystem::path& agent_home,
                                                     const std::string& agent) {
    const std::lock_guard lock(mutex_);
    if (const auto known = held_.find(agent); known != held_.end()) {
        if (auto held = known->second.lock()) return held;
        held_.erase(known);
    }
    auto taken = std::make_shared<base::Fd>(TRY(lock_agent(agent_home, agent)));
    std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
    held_.emplace(agent, taken);
    return taken;
}

}  // namespace service
