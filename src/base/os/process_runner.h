// The real ProcessRunner: posix_spawn, pidfds and pipes on an AsioLoop.
#pragma once

#include <chrono>
#include <memory>

#include "base/os/asio_loop.h"
#include "base/os/process.h"

namespace base {

// Between SIGTERM and SIGKILL when a command is ended.
inline constexpr std::chrono::milliseconds kTermGrace{500};

// How long after its leader a command may still send output when another process of it holds the
// pipes: this long after the leader or the last output, and never longer than the maximum.
inline constexpr std::chrono::milliseconds kDrainGrace{250};
inline constexpr std::chrono::milliseconds kDrainMax{2000};

// A process that survives SIGKILL this long (stuck in the kernel) is given up, and the exit comes
// without it.
inline constexpr std::chrono::milliseconds kKillMax{2000};

// A command runs in a session of its own, without a terminal, standard input is that of the spec or
// empty, and no
// descriptor, signal mask or handler of ours reaches it. When it has ended, for whatever reason, so
// have all processes it started, whatever group or session they moved to: those left over get
// SIGTERM and after kTermGrace SIGKILL before the exit is reported. base/os/process_tree.h says
// what this requires of other code, and the one exception.
//
// PATH is that of the spec's environment, "/bin:/usr/bin" when it has none. A relative program or
// PATH entry starts at the spec's cwd; an empty cwd is our own. Used on the loop only.
class SystemProcessRunner final : public ProcessRunner {
public:
    explicit SystemProcessRunner(AsioLoop& loop);
    // Kills what still runs, waiting for that a moment; their on_exit is dropped. Handles may
    // live on and do nothing.
    ~SystemProcessRunner() override;
    SystemProcessRunner(const SystemProcessRunner&) = delete;
    SystemProcessRunner& operator=(const SystemProcessRunner&) = delete;

    Result<std::shared_ptr<Handle>> start(
        ProcessSpec spec, std::move_only_function<void(ProcessExit)> on_exit) override;

private:
    class Command;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace base
