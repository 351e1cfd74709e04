// Who may change a file now. Calls of this program, in any process, change one file one after the
// other; a program that does not know these locks is noticed before its change would be lost.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "exec/tools/vault/root.h"

namespace vault {

// How long a call waits for the files that it changes. Calls hold them for milliseconds, so a
// longer wait means another program that keeps its lock.
inline constexpr std::chrono::seconds kLockWaitMax{30};

// Advisory locks (flock) on the files themselves: nothing is left behind in the vault, and a
// process that dies holds none. A file that is replaced takes its lock with it, so that a waiting
// call notices that the path leads to another file by now. On a file system without locks they are
// always granted.
class FileLocks {
public:
    // Waits until every path that names a regular file is held. CONFLICT after kLockWaitMax;
    // CANCELLED when `stop` becomes true.
    static Outcome<FileLocks> hold(const Root& root, const std::set<std::string>& paths,
                                   const std::atomic<bool>* stop);

    bool holds_all(const std::set<std::string>& paths) const;
    // The file that is held at `path`, open for reading; locked now, without waiting, if it is not
    // held yet.
    Outcome<int> file(const Root& root, const std::string& path);

    // The path leads to another file now, which the caller has locked.
    void replaced(const std::string& path, base::Fd file) { held_[path] = std::move(file); }
    // A file, or everything below a folder, has moved.
    void moved(const std::string& from, const std::string& to);
    void forget(const std::string& path) { held_.erase(path); }

private:
    std::set<std::string> asked_;  // Also those that named no file.
    std::map<std::string, base::Fd> held_;
};

// Keeps other programs from writing to a file for the moment in which it is replaced (a lease).
// Programs that open it for writing wait until the lease is released.
class WriteGuard {
public:
    explicit WriteGuard(int file);
    ~WriteGuard();
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

    // Another program has it open for writing.
    bool is_busy() const { return is_busy_; }
    // False on file systems without leases: there the caller has to compare the content.
    bool is_held() const { return is_held_; }
    // Another program waits to write to it. Of a guard that is held.
    bool is_wanted() const;

private:
    int file_;
    bool is_held_{false};
    bool is_busy_{false};
};

}  // namespace vault
