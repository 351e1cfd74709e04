#include "service/daemon/decide.h"

#include <fmt/format.h>

namespace service {
namespace {

constexpr std::string_view kForeign =
    "another program listens at the control socket of this home; it is left alone. End it, or set "
    "HOLON_SOCKET_PATH to another path";
constexpr std::string_view kUnresponsive =
    "a daemon{} holds this home but does not answer; see holon daemon logs, or end it with holon "
    "daemon stop";
constexpr std::string_view kNoPid =
    "a process holds this home but cannot be seen from here, as in another container; end it there";

std::string pid_text(const DaemonFacts& facts) {
    const auto pid = pid_of(facts);
    return pid ? fmt::format(" (pid {})", *pid) : "";
}

}  // namespace

DaemonState state_of(const DaemonFacts& facts) {
    if (facts.control == Control::Answers) return DaemonState::Running;
    // Whatever listens at the socket, the operator asks about the living daemon of this home.
    if (facts.lock_held) return DaemonState::Unresponsive;
    if (facts.control != Control::Absent) return DaemonState::Foreign;
    return facts.left_behind.empty() ? DaemonState::Stopped : DaemonState::Stale;
}

std::optional<pid_t> pid_of(const DaemonFacts& facts) {
    if (facts.control == Control::Answers) {
        const auto pid = base::int_at(facts.runtime, "pid");
        if (pid > 0) return static_cast<pid_t>(pid);
    }
    return facts.holder;
}

StartDecision decide_start(const DaemonFacts& facts, const std::string& wanted_fingerprint) {
    switch (state_of(facts)) {
        case DaemonState::Running: {
            const auto running = base::string_at(facts.runtime, "config_fingerprint");
            if (running == wanted_fingerprint && facts.same_token) return AlreadyRunning{};
            return RefuseStart{fmt::format(
                "a daemon with another {} is running{}; use holon daemon restart with the same "
                "options to replace it",
                running == wanted_fingerprint ? "control token" : "configuration",
                pid_text(facts))};
        }
        case DaemonState::Unresponsive:
            return RefuseStart{fmt::format(fmt::runtime(kUnresponsive), pid_text(facts))};
        case DaemonState::Foreign:
            return RefuseStart{std::string(kForeign)};
        case DaemonState::Stale:
            return Launch{.clean_first = true};
        case DaemonState::Stopped:
            return Launch{};
    }
    return Launch{};
}

StopDecision decide_stop(const DaemonFacts& facts) {
    switch (state_of(facts)) {
        case DaemonState::Running:
            return AskToStop{facts.holder};
        case DaemonState::Unresponsive:
            if (facts.holder) return Terminate{*facts.holder};
            return RefuseStop{std::string(kNoPid)};
        case DaemonState::Foreign:
            return RefuseStop{std::string(kForeign)};
        case DaemonState::Stale:
            return NothingToStop{.clean_first = true};
        case DaemonState::Stopped:
            return NothingToStop{};
    }
    return NothingToStop{};
}

}  // namespace service
