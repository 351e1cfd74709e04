// What a supervisor has written down about its command.
#pragma once

#include <filesystem>

#include "base/typed.h"
#include "exec/tasks/supervisor/supervisor.h"

namespace supervisor {

enum class StateStatus { Running, NotStarted, Exited };
BOOST_DESCRIBE_ENUM(StateStatus, Running, NotStarted, Exited)

struct State {
    std::int64_t version{0};
    std::string boot_id;
    StateStatus status{StateStatus::Running};
    std::int64_t supervisor_pid{0};
    std::int64_t pid{0};
    std::int64_t start_time{0};  // Of `pid`; see base::start_time_of().
    std::string error;           // Why it was not started.
    std::optional<std::int64_t> exit_code{};
    std::optional<std::int64_t> signal{};
    bool stopped{false};
    bool forced{false};
    bool output_cut_off{false};
    std::int64_t stdout_bytes{0};
    std::int64_t stderr_bytes{0};
    std::int64_t dropped_bytes{0};
    std::string log_error;
    std::int64_t duration_us{0};
};
BOOST_DESCRIBE_STRUCT(State, (),
                      (version, boot_id, status, supervisor_pid, pid, start_time, error, exit_code,
                       signal, stopped, forced, output_cut_off, stdout_bytes, stderr_bytes,
                       dropped_bytes, log_error, duration_us))

// NotFound when the supervisor never got as far.
base::Result<State> read_state(const std::filesystem::path& folder);

// The end that a supervisor which no longer answers leaves behind.
End end_of(const base::Result<State>& state, const std::string& boot_id_now);

// Changes with every start of the machine; empty when it is not known.
std::string boot_id();

}  // namespace supervisor
