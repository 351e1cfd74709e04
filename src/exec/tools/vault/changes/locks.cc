#include "exec/tools/vault/changes/locks.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

namespace vault {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::microseconds kPauseFirst{200};
constexpr std::chrono::microseconds kPauseMax{20'000};

enum class Lock { Held, Busy };

// A file system without locks grants them all: there, only changes that overlap are noticed.
Lock try_lock(int file) {
    while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        return errno == EWOULDBLOCK ? Lock::Busy : Lock::Held;
    }
    return Lock::Held;
}

// There a lease is refused with the same error as for a file that somebody writes.
bool is_network(int file) {
    struct statfs found{};
    if (::fstatfs(file, &found) != 0) return false;
    // NOLINTNEXTLINE(cppcoreguidelines-narrowing-conversions)
    switch (static_cast<std::uint32_t>(found.f_type)) {
        case NFS_SUPER_MAGIC:
        case SMB_SUPER_MAGIC:
        case CIFS_SUPER_MAGIC:
        case SMB2_SUPER_MAGIC:
            return true;
        default:
            return false;
    }
}

bool leads_to(const Root& root, const std::string& path, const struct stat& file) {
    const auto seen = root.look(path);
    return seen && seen->status.st_dev == file.st_dev && seen->status.st_ino == file.st_ino;
}

// Waits for locks with growing pauses until the time is over.
class Patience {
public:
    explicit Patience(const std::atomic<bool>* stop) : stop_(stop) {}

    Outcome<void> wait(const std::string& path) {
        if (stop_ && stop_->load()) return stopped();
        if (steady_clock::now() >= end_)
            return conflict(path, "is locked by another program",
                            "Wait until that program has ended, then try again.");
        std::this_thread::sleep_for(pause_);
        pause_ = std::min(pause_ * 2, kPauseMax);
        return {};
    }

private:
    const std::atomic<bool>* stop_;
    steady_clock::time_point end_{steady_clock::now() + kLockWaitMax};
    std::chrono::microseconds pause_{kPauseFirst};
};

struct Candidate {
    std::string path;
    base::Fd file;
    struct stat status{};
};

// The regular files at these paths, in the one order in which everybody locks.
std::vector<Candidate> open_all(const Root& root, const std::set<std::string>& paths) {
    std::vector<Candidate> files;
    for (const auto& path : paths) {
        auto file = root.file(path);
        if (!file) continue;  // There is nothing to protect; the step that needs it reports why.
        Candidate one{.path = path, .file = std::move(*file)};
        if (::fstat(one.file.get(), &one.status) == 0 && S_ISREG(one.status.st_mode))
            files.push_back(std::move(one));
    }
    std::ranges::sort(files, {}, [](const Candidate& one) {
        return std::pair(one.status.st_dev, one.status.st_ino);
    });
    return files;
}

}  // namespace

Outcome<FileLocks> FileLocks::hold(const Root& root, const std::set<std::string>& paths,
                                   const std::atomic<bool>* stop) {
    Patience patience(stop);
    while (true) {
        FileLocks locks;
        locks.asked_ = paths;
        auto files = open_all(root, paths);
        const Candidate* before = nullptr;
        bool is_current = true;
        for (auto& one : files) {
            // Two paths of one file: the second descriptor would wait for the first.
            const bool is_same = before && before->status.st_dev == one.status.st_dev &&
                                 before->status.st_ino == one.status.st_ino;
            while (!is_same && try_lock(one.file.get()) == Lock::Busy) TRY(patience.wait(one.path));
            is_current = is_current && leads_to(root, one.path, one.status);
            before = &one;
        }
        if (!is_current) {
            // Somebody replaced a file while this call waited; now the new one has to be locked.
            TRY(patience.wait(*paths.begin()));
            continue;
        }
        for (auto& one : files) locks.held_[one.path] = std::move(one.file);
        return locks;
    }
}

bool FileLocks::holds_all(const std::set<std::string>& paths) const {
    return std::ranges::includes(asked_, paths);
}

Outcome<int> FileLocks::file(const Root& root, const std::string& path) {
    if (const auto found = held_.find(path); found != held_.end()) return found->second.get();
    base::Fd file = TRY(root.file(path));
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return refused("Looking at", path, errno);
    if (S_ISREG(status.st_mode) &&
        (try_lock(file.get()) == Lock::Busy || !leads_to(root, path, status)))
        return conflict(path, "is being changed by another call", "Try again.");
    return held_.emplace(path, std::move(file)).first->second.get();
}

void FileLocks::moved(const std::string& from, const std::string& to) {
    std::map<std::string, base::Fd> after;
    for (auto& [path, file] : held_) {
        const bool is_inside = path == from || path.starts_with(from + "/");
        after.emplace(is_inside ? to + path.substr(from.size()) : path, std::move(file));
    }
    held_ = std::move(after);
}

WriteGuard::WriteGuard(int file) : file_(file) {
    // The signal that tells of a waiting writer is one that is ignored by default; is_wanted()
    // asks.
    if (::fcntl(file_, F_SETSIG, SIGURG) != 0) return;
    if (::fcntl(file_, F_SETLEASE, F_RDLCK) == 0)
        is_held_ = true;
    else
        is_busy_ = errno == EAGAIN && !is_network(file_);
}

WriteGuard::~WriteGuard() {
    if (is_held_) ::fcntl(file_, F_SETLEASE, F_UNLCK);
}

bool WriteGuard::is_wanted() const {
    return ::fcntl(file_, F_GETLEASE) != F_RDLCK;
}

}  // namespace vault
