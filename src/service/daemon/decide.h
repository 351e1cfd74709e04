// What the state of a home means, and what start and stop do about it. Pure.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"

namespace service {

// What answers at the control socket.
enum class Control {
    Absent,   // No socket there, or nobody listens on it.
    Answers,  // The runtime of this home.
    Foreign,  // Something else: another home, another program.
    Silent,   // A process accepts but does not answer.
};

struct DaemonFacts {
    Control control{Control::Absent};
    json::object runtime{};  // Its own report, when it answers.
    bool lock_held{false};   // A runtime process lives on this home.
    // The process that was seen to hold the lock, and the only one to be signalled. In a container
    // the daemon reports another number, which here may be any process.
    std::optional<pid_t> holder{};
    std::vector<std::string> left_behind{};  // Files of a runtime, living or dead.
    bool same_token{true};  // Does it accept the requested token? True when none was requested.
};

enum class DaemonState { Running, Unresponsive, Foreign, Stale, Stopped };

DaemonState state_of(const DaemonFacts& facts);
// The process id to show: the one it reports, else the holder of the lock.
std::optional<pid_t> pid_of(const DaemonFacts& facts);

struct Launch {
    bool clean_first{false};
    friend bool operator==(const Launch&, const Launch&) = default;
};
struct AlreadyRunning {
    friend bool operator==(const AlreadyRunning&, const AlreadyRunning&) = default;
};
struct RefuseStart {
    std::string reason;
    friend bool operator==(const RefuseStart&, const RefuseStart&) = default;
};
using StartDecision = std::variant<Launch, AlreadyRunning, RefuseStart>;
StartDecision decide_start(const DaemonFacts& facts, const std::string& wanted_fingerprint);

struct NothingToStop {
    bool clean_first{false};
    friend bool operator==(const NothingToStop&, const NothingToStop&) = default;
};
struct AskToStop {  // First over the control surface, then by signals if there is a pid.
    std::optional<pid_t> pid{};
    friend bool operator==(const AskToStop&, const AskToStop&) = default;
};
struct Terminate {
    pid_t pid{0};
    friend bool operator==(const Terminate&, const Terminate&) = default;
};
struct RefuseStop {
    std::string reason;
    friend bool operator==(const RefuseStop&, const RefuseStop&) = default;
};
using StopDecision = std::variant<NothingToStop, AskToStop, Terminate, RefuseStop>;
StopDecision decide_stop(const DaemonFacts& facts);

}  // namespace service
