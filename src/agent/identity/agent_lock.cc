#include "agent/identity/agent_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <thread>

#include "base/text.h"

namespace identity {

namespace {

base::Result<base::Fd> open_lock(const std::filesystem::path& home) {
    const auto folder = home / ".holon";
    TRY(base::make_folders(folder, 0700));
    const auto file = folder / "run.lock";
    base::Fd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return base::fail_errno("open " + file.string());
    return fd;
}

std::string written_pid(const base::Fd& fd) {
    char holder[32] = {};
    const ssize_t size = pread(fd.get(), holder, sizeof holder - 1, 0);
    return std::string(
        base::trim(std::string_view(holder, size > 0 ? static_cast<std::size_t>(size) : 0)));
}

// Only for messages and signals; the lock itself is the kernel's.
void write_pid(const base::Fd& fd) {
    const std::string pid = std::to_string(getpid()) + "\n";
    if (ftruncate(fd.get(), 0) == 0) base::write_all(fd.get(), pid);
}

}  // namespace

base::Result<base::Fd> lock_agent(const std::filesystem::path& agent_home,
                                  const std::string& agent) {
    return lock_folder(agent_home, "agent " + agent);
}

base::Result<base::Fd> lock_folder(const std::filesystem::path& folder, const std::string& what) {
    // A process that only asks who holds the lock has it for a moment.
    constexpr int kTries = 5;
    constexpr std::chrono::milliseconds kMoment{2};
    auto fd = TRY(open_lock(folder));
    int tries = 0;
    while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (++tries < kTries) {
            std::this_thread::sleep_for(kMoment);
            continue;
        }
        const std::string pid = written_pid(fd);
        return base::fail(base::ErrorCode::Conflict,
                          "{} is being run by another process{}; wait for it to finish or stop it",
                          what, pid.empty() ? "" : " (pid " + base::printable(pid) + ")");
    }
    write_pid(fd);
    return fd;
}

base::Result<std::optional<pid_t>> lock_holder(const std::filesystem::path& folder) {
    const auto fd = TRY(open_lock(folder));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;
    const std::string text = written_pid(fd);
    pid_t pid = 0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, pid).ptr != end || pid <= 0)
        return base::fail(base::ErrorCode::Unavailable,
                          "the process that holds {} has not said who it is; try again",
                          folder.string());
    return pid;
}

base::Result<base::Fd> wait_for_lock(const std::filesystem::path& folder,
                                     std::chrono::milliseconds bound) {
    // The kernel reports a free lock only to a caller that waits for it without a bound.
    constexpr std::chrono::milliseconds kLook{20};
    auto fd = TRY(open_lock(folder));
    for (auto waited = kLook; flock(fd.get(), LOCK_EX | LOCK_NB) != 0; waited += kLook) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return base::fail_errno("lock " + folder.string());
        if (waited > bound)
            return base::fail(base::ErrorCode::Conflict,
                              "process {} has not released {} yet; try again later",
                              base::printable(written_pid(fd)), folder.string());
        std::this_thread::sleep_for(kLook);
    }
    write_pid(fd);
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

}  // namespace identity
