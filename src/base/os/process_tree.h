// Everything a command has started, found again when the command has to end.
//
// A command's processes may leave its process group, its session and its tree (a double fork). So
// this process becomes a child subreaper when the first command starts: an orphan then becomes our
// child instead of vanishing under init, and walking down from our own children finds all there is.
// The session of an orphan, that of the leader or of a descendant, shows its command. One that also
// made its own session and then lost its parent (a daemon) has no such mark: it is assigned to any
// ending command, once no other command that is old enough to have started it still runs. So it may
// outlive its command while others run, but it is never the living child of another one.
//
// For this to be safe, nothing else in the program may start children that lead their own session
// unless it does so through start_apart(), wait for "any child", or ignore SIGCHLD. Children in our
// own session are never touched.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <set>

#include "base/os/files.h"

namespace base {

// Runs `spawn` as grow() does, for a child that is no command: no tree ever takes it for an orphan.
// Gives its pidfd, readable when it has ended; then reap_apart() must release its number.
std::expected<Fd, int> start_apart(const std::function<int(pid_t&)>& spawn);
void reap_apart(const Fd& pidfd);

// When a process began, in clock ticks since the machine did, or 0 when there is none. With the
// number it names one process for as long as the machine runs.
std::uint64_t start_time_of(pid_t pid);

// Any thread may use any tree, one at a time each.
class ProcessTree {
public:
    // Runs `spawn`, which starts a leader of a new session and returns 0, or the errno of its
    // failure, which is passed on.
    static std::expected<ProcessTree, int> grow(const std::function<int(pid_t&)>& spawn);

    pid_t leader() const { return leader_; }

    // Becomes readable when the leader has ended.
    int leader_fd() const { return leader_fd_.get(); }

    // How the leader ended, as waitid() reports it; false while it runs. Its zombie remains, so
    // that its number is not reused for a foreign process that we would then signal.
    bool leader_ended(siginfo_t& info) const;

    // Sends `signal` (0: none) to every process of the tree that still runs, and says how many
    // those are. 0 is final only when the leader was known to have ended before the call. From the
    // first call on, the command counts as ending.
    std::size_t signal(int signal);

    // Releases the leader's number once it has ended. The tree is not used afterwards.
    void release();

private:
    ProcessTree(pid_t leader, Fd leader_fd) : leader_(leader), leader_fd_(std::move(leader_fd)) {}

    struct Scan;
    void visit(pid_t pid, pid_t parent, Scan& scan);
    bool owns_orphan(pid_t session, std::uint64_t started) const;

    pid_t leader_;
    Fd leader_fd_;
    std::set<pid_t> sessions_;  // Known to be of this command.
};

}  // namespace base
