#include "exec/tasks/supervisor/program/tether.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/os/process_tree.h"
#include "base/os/spawn.h"

namespace supervisor {
namespace {

using Clock = std::chrono::steady_clock;

// For a server to end by itself after its input has closed, and then after SIGTERM.
constexpr std::chrono::milliseconds kInputGrace{500};
constexpr std::chrono::milliseconds kTermGrace{500};
// A process that survives SIGKILL this long (stuck in the kernel) is given up.
constexpr std::chrono::milliseconds kKillMax{2000};
constexpr int kSweepMs = 10;
constexpr int kSignalBase = 128;

base::ProcessSpec spec_of(char** argv) {
    base::ProcessSpec spec;
    for (char** word = argv; *word != nullptr; ++word) spec.argv.emplace_back(*word);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos)
            spec.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return spec;
}

// The streams are the server's alone: a reader of its output sees the end of it.
void release_streams() {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
    ::close(nothing);
}

// Returns when the server has ended or the lifeline has closed, or after `limit_ms` (-1: never).
// True: the server has ended.
bool await(const base::ProcessTree& tree, bool mind_lifeline, int limit_ms) {
    siginfo_t info{};
    pollfd watched[] = {{.fd = tree.leader_fd(), .events = POLLIN, .revents = 0},
                        {.fd = kLifelineFd, .events = POLLIN, .revents = 0}};
    while (!tree.leader_ended(info)) {
        const int ready = ::poll(watched, mind_lifeline ? 2 : 1, limit_ms);
        if (ready == 0 || (ready > 0 && mind_lifeline && watched[1].revents != 0)) break;
    }
    return tree.leader_ended(info);
}

void end_tree(base::ProcessTree& tree) {
    const auto began = Clock::now();
    siginfo_t info{};
    for (int signal = SIGTERM;;) {
        const bool leader_ended = tree.leader_ended(info);
        if (tree.signal(signal) == 0 && leader_ended) return;
        const auto passed = Clock::now() - began;
        if (passed >= kTermGrace + kKillMax) return;
        signal = passed >= kTermGrace ? SIGKILL : 0;
        ::poll(nullptr, 0, kSweepMs);
    }
}

}  // namespace

int tether(char** argv) {
    const std::string program = argv[1];
    base::ProcessSpec spec = spec_of(argv + 2);
    int fd = kLifelineFd + 1;
    for (long files = std::strtol(argv[0], nullptr, 10); files > 0; --files)
        spec.files.push_back(std::make_shared<base::Fd>(fd++));
    ::close_range(static_cast<unsigned>(fd), ~0U, 0);
    ::fcntl(kLifelineFd, F_SETFD, FD_CLOEXEC);
    const base::Streams streams{.in = STDIN_FILENO, .out = STDOUT_FILENO, .err = STDERR_FILENO};
    auto tree = base::ProcessTree::grow(
        [&](pid_t& pid) { return base::spawn(program, spec, streams, pid); });
    spec.files.clear();
    if (!tree) return kNotStarted;
    release_streams();
    if (!await(*tree, true, -1)) await(*tree, false, kInputGrace.count());
    end_tree(*tree);
    siginfo_t info{};
    if (!tree->leader_ended(info)) return kSignalBase + SIGKILL;
    return info.si_code == CLD_EXITED ? info.si_status : kSignalBase + info.si_status;
}

}  // namespace supervisor
