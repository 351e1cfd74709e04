#include "base/os/process_tree.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

// glibc 2.36 forgot the extern "C" in this header.
extern "C" {
#include <sys/pidfd.h>
}

namespace base {
namespace {

constexpr std::size_t kProcFileBytesMax = 1024 * 1024;

// One signal() scans at most this often, since a command may fork faster than we scan.
constexpr int kPassesMax = 8;

struct Command {
    std::uint64_t started{0};  // Clock ticks since boot, as in /proc/<pid>/stat.
    bool ending{false};
};

// All commands of this process, by their leaders. Orphans of all of them become our children, so
// every tree has to know of every other. The lock also covers spawning: a leader that is not yet
// listed would look like an orphan.
struct Commands {
    std::mutex mutex;
    std::map<pid_t, Command> by_leader;
    std::map<int, pid_t> apart;  // Children that are no commands, by their pidfds.
    bool is_apart(pid_t pid) const {
        return std::ranges::any_of(apart, [&](const auto& child) { return child.second == pid; });
    }
};

Commands& commands() {
    static auto* const the_commands = new Commands;
    return *the_commands;
}

struct ProcessFacts {
    char state{'?'};
    pid_t parent{0}, group{0}, session{0};
    std::int64_t threads{0};
    std::uint64_t started{0};
    // A process whose first thread has ended shows as a zombie too, but runs on in the others.
    bool is_dead() const { return (state == 'Z' && threads <= 1) || state == 'X'; }
};

std::vector<std::int64_t> numbers_in(std::string_view text) {
    std::vector<std::int64_t> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        std::int64_t number = 0;
        const auto [next, error] = std::from_chars(at, end, number);
        if (error == std::errc{}) numbers.push_back(number);
        at = error == std::errc{} ? next : at + 1;
    }
    return numbers;
}

std::optional<ProcessFacts> facts_of(pid_t pid) {
    const auto text = read_file(fmt::format("/proc/{}/stat", pid), kProcFileBytesMax);
    if (!text) return std::nullopt;
    // The name before the last parenthesis may hold anything.
    const std::size_t name_end = text->rfind(')');
    if (name_end == std::string::npos || name_end + 3 > text->size()) return std::nullopt;
    const auto fields = numbers_in(std::string_view(*text).substr(name_end + 3));
    constexpr std::size_t kParent = 0, kGroup = 1, kSession = 2, kThreads = 16, kStarted = 18;
    if (fields.size() <= kStarted) return std::nullopt;
    return ProcessFacts{.state = (*text)[name_end + 2],
                        .parent = static_cast<pid_t>(fields[kParent]),
                        .group = static_cast<pid_t>(fields[kGroup]),
                        .session = static_cast<pid_t>(fields[kSession]),
                        .threads = fields[kThreads],
                        .started = static_cast<std::uint64_t>(fields[kStarted])};
}

// A child belongs to the thread that started it, or to any thread when it was adopted.
std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> children;
    const std::string threads = fmt::format("/proc/{}/task", pid);
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(threads.c_str()), ::closedir);
    if (!folder) return children;
    while (const dirent* entry = ::readdir(folder.get())) {
        if (entry->d_name[0] == '.') continue;
        const auto text =
            read_file(fmt::format("{}/{}/children", threads, entry->d_name), kProcFileBytesMax);
        if (!text) continue;
        for (const auto child : numbers_in(*text)) children.push_back(static_cast<pid_t>(child));
    }
    return children;
}

bool reap(int pidfd) {
    siginfo_t info{};
    return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) == 0 &&
           info.si_pid != 0;
}

}  // namespace

struct ProcessTree::Scan {
    int signal{0};
    std::set<pid_t> signalled{};
    std::size_t running{0};
    bool again{false};  // An orphan was reaped or a session found: scan once more.
};

std::expected<ProcessTree, int> ProcessTree::grow(const std::function<int(pid_t&)>& spawn) {
    const std::scoped_lock lock(commands().mutex);
    static const int adopting = ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (adopting != 0) return std::unexpected(ENOSYS);
    pid_t leader = 0;
    if (const int error = spawn(leader); error != 0) return std::unexpected(error);
    Fd leader_fd(::pidfd_open(leader, 0));
    if (!leader_fd) {
        const int error = errno;
        ::kill(-leader, SIGKILL);
        ::waitpid(leader, nullptr, 0);
        return std::unexpected(error);
    }
    // Without facts (no /proc) it counts as old enough to own any orphan.
    const auto facts = facts_of(leader);
    commands().by_leader[leader] = {.started = facts ? facts->started : 0};
    ProcessTree tree(leader, std::move(leader_fd));
    tree.sessions_.insert(leader);
    return tree;
}

std::expected<Fd, int> start_apart(const std::function<int(pid_t&)>& spawn) {
    const std::scoped_lock lock(commands().mutex);
    pid_t child = 0;
    if (const int error = spawn(child); error != 0) return std::unexpected(error);
    Fd pidfd(::pidfd_open(child, 0));
    if (!pidfd) {
        const int error = errno;
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        return std::unexpected(error);
    }
    commands().apart[pidfd.get()] = child;
    return pidfd;
}

void reap_apart(const Fd& pidfd) {
    const std::scoped_lock lock(commands().mutex);
    reap(pidfd.get());
    commands().apart.erase(pidfd.get());
}

std::uint64_t start_time_of(pid_t pid) {
    const auto facts = facts_of(pid);
    return facts && !facts->is_dead() ? facts->started : 0;
}

bool ProcessTree::leader_ended(siginfo_t& info) const {
    info = {};
    return ::waitid(P_PIDFD, static_cast<id_t>(leader_fd_.get()), &info,
                    WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

std::size_t ProcessTree::signal(int signal) {
    const std::scoped_lock lock(commands().mutex);
    commands().by_leader[leader_].ending = true;
    // The group in one call, which no fork can slip through; the others one by one below.
    if (signal != 0) ::kill(-leader_, signal);
    Scan scan{.signal = signal};
    for (int pass = 0; pass < kPassesMax; ++pass) {
        scan.running = 0;
        scan.again = false;
        const pid_t self = ::getpid();
        for (const pid_t child : children_of(self)) visit(child, self, scan);
        if (!scan.again) return scan.running;
    }
    return std::max<std::size_t>(scan.running, 1);
}

// A number read from a list may have changed hands since, so the process is pinned by a descriptor
// first and then asked whether it is still the child of `parent`.
void ProcessTree::visit(pid_t pid, pid_t parent, Scan& scan) {
    Fd pidfd(::pidfd_open(pid, 0));
    if (!pidfd) return;
    const auto facts = facts_of(pid);
    if (!facts || facts->parent != parent) return;
    const bool is_orphan = parent == ::getpid() && pid != leader_;
    if (is_orphan) {
        if (commands().by_leader.contains(pid) || commands().is_apart(pid) ||
            facts->session == ::getsid(0))
            return;
        if (facts->is_dead()) {
            // Nobody else waits for it. What it leaves behind became ours a moment ago, maybe after
            // our children were listed.
            scan.again |= reap(pidfd.get());
            return;
        }
        if (!owns_orphan(facts->session, facts->started)) return;
    }
    if (facts->is_dead()) return;
    scan.again |= sessions_.insert(facts->session).second;
    ++scan.running;
    if (scan.signal != 0 && facts->group != leader_ && scan.signalled.insert(pid).second)
        ::pidfd_send_signal(pidfd.get(), scan.signal, nullptr, 0);
    const auto children = children_of(pid);
    // Had it ended meanwhile, the list could be that of a stranger with the same number.
    if (::pidfd_send_signal(pidfd.get(), 0, nullptr, 0) != 0 && errno != EPERM) return;
    pidfd.reset();
    for (const pid_t child : children) visit(child, pid, scan);
}

bool ProcessTree::owns_orphan(pid_t session, std::uint64_t started) const {
    if (sessions_.contains(session)) return true;
    return std::ranges::none_of(commands().by_leader, [&](const auto& entry) {
        const auto& [leader, command] = entry;
        return session == leader || (!command.ending && command.started <= started);
    });
}

void ProcessTree::release() {
    const std::scoped_lock lock(commands().mutex);
    if (reap(leader_fd_.get())) commands().by_leader.erase(leader_);
    leader_fd_.reset();
}

}  // namespace base
