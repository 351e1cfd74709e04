#include "agent/identity/agent_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <thread>

#include "base/os/process_tree.h"
#include "base/text.h"

namespace identity {

namespace {

std::filesystem::path lock_file(const std::filesystem::path& home) {
    return home / ".holon" / "run.lock";
}

// Is `fd` still the file that others find by its name?
bool is_in_place(const base::Fd& fd, const std::filesystem::path& file) {
    struct stat held{};
    struct stat named{};
    return ::fstat(fd.get(), &held) == 0 && ::stat(file.c_str(), &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

base::Result<base::Fd> open_lock(const std::filesystem::path& home) {
    const auto file = lock_file(home);
    const auto opened = [&] {
        return base::Fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    };
    base::Fd fd = opened();
    if (!fd && errno == ENOENT) {
        TRY(base::make_folders(file.parent_path(), 0700));
        fd = opened();
    }
    if (!fd) return base::fail_errno("open " + file.string());
    return fd;
}

// What the holder has written: its process id, and when that process started. Programs before this
// one wrote the id only.
std::string written_holder(const base::Fd& fd) {
    char holder[64] = {};
    const ssize_t size = pread(fd.get(), holder, sizeof holder - 1, 0);
    return std::string(
        base::trim(std::string_view(holder, size > 0 ? static_cast<std::size_t>(size) : 0)));
}

std::string written_pid(const base::Fd& fd) {
    const std::string holder = written_holder(fd);
    return holder.substr(0, holder.find(' '));
}

// What this process writes. It stays the same, unless the process is a copy of another.
const std::string& own_holder() {
    thread_local struct {
        pid_t pid{0};
        std::string text;
    } own;
    if (const pid_t pid = getpid(); own.pid != pid)
        own = {pid, fmt::format("{} {}", pid, base::start_time_of(pid))};
    return own.text;
}

// Only for messages and signals; the lock itself is the kernel's.
void write_pid(const base::Fd& fd) {
    const auto& text = own_holder();
    if (written_holder(fd) == text) return;
    if (ftruncate(fd.get(), 0) == 0) base::write_all(fd.get(), text + "\n");
}

// A number that is all of `text`.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
    Number number{};
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto [stop, failed] = std::from_chars(begin, end, number);
    if (failed != std::errc{} || stop != end) return std::nullopt;
    return number;
}

struct Holder {
    pid_t pid{0};
    std::uint64_t start_time{0};
};
std::optional<Holder> parse_holder(const std::string& text) {
    const auto blank = text.find(' ');
    if (blank == std::string::npos) return std::nullopt;
    const auto pid = whole_number<pid_t>(std::string_view(text).substr(0, blank));
    const auto start = whole_number<std::uint64_t>(std::string_view(text).substr(blank + 1));
    if (!pid || *pid <= 0 || !start || *start == 0) return std::nullopt;
    return Holder{*pid, *start};
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

base::Result<bool> is_locked(const std::filesystem::path& folder) {
    const auto fd = TRY(open_lock(folder));
    return flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

// The descriptor is opened first and the process compared then: when its start time is the one that
// the holder wrote, no other process can have had the number in between.
base::Result<std::optional<base::Fd>> lock_holder(const std::filesystem::path& folder) {
    const auto fd = TRY(open_lock(folder));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;
    const auto holder = parse_holder(written_holder(fd));
    base::Fd process(holder ? static_cast<int>(syscall(SYS_pidfd_open, holder->pid, 0)) : -1);
    if (process && base::start_time_of(holder->pid) == holder->start_time) return process;
    // It may have ended between the two questions.
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;
    return base::fail(base::ErrorCode::Unavailable,
                      "the process that holds {} cannot be identified{}; try again, or stop it "
                      "yourself",
                      folder.string(),
                      holder ? fmt::format(" (it wrote pid {})", holder->pid) : std::string());
}

base::Status signal_process(const base::Fd& process, int signal) {
    if (syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) != 0 && errno != ESRCH)
        return base::fail_errno("signal a process");
    return {};
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
        if (auto held = known->second.lock(); held && is_in_place(*held, lock_file(agent_home)))
            return held;
        held_.erase(known);
    }
    auto taken = std::make_shared<base::Fd>(TRY(lock_agent(agent_home, agent)));
    std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
    held_.emplace(agent, taken);
    return taken;
}

bool AgentLocks::still_holds(const std::filesystem::path& agent_home, const std::string& agent) {
    const std::lock_guard lock(mutex_);
    const auto known = held_.find(agent);
    if (known == held_.end()) return false;
    const auto held = known->second.lock();
    return held && is_in_place(*held, lock_file(agent_home));
}

}  // namespace identity
