#include "exec/tasks/supervisor/state.h"

#include "base/os/files.h"
#include "base/text.h"
#include "exec/tasks/supervisor/wire.h"

namespace supervisor {
namespace {

constexpr std::size_t kStateBytesMax = 64 * 1024;
constexpr std::size_t kBootIdBytesMax = 256;

std::optional<int> as_int(const std::optional<std::int64_t>& number) {
    if (!number) return std::nullopt;
    return static_cast<int>(*number);
}

}  // namespace

base::Result<State> read_state(const std::filesystem::path& folder) {
    const auto text = TRY(base::read_file(folder / kStateFile, kStateBytesMax));
    return base::from_json<State>(TRY(base::parse_json(text)));
}

End end_of(const base::Result<State>& state, const std::string& boot_id_now) {
    if (!state)
        return Lost{"The supervisor left no record of the command: " + state.error().message};
    switch (state->status) {
        case StateStatus::NotStarted:
            return NotStarted{state->error};
        case StateStatus::Exited:
            return Ended{.exit_code = as_int(state->exit_code),
                         .signal = as_int(state->signal),
                         .stopped = state->stopped,
                         .forced = state->forced,
                         .output_cut_off = state->output_cut_off,
                         .stdout_bytes = static_cast<std::uint64_t>(state->stdout_bytes),
                         .stderr_bytes = static_cast<std::uint64_t>(state->stderr_bytes),
                         .dropped_bytes = static_cast<std::uint64_t>(state->dropped_bytes),
                         .log_error = state->log_error,
                         .duration = std::chrono::microseconds(state->duration_us)};
        case StateStatus::Running:
            break;
    }
    if (state->boot_id != boot_id_now)
        return Lost{fmt::format(
            "The machine was restarted while the command ran as process {}; it did not survive.",
            state->pid)};
    return Lost{
        fmt::format("The supervisor (process {}) is gone without recording how the command "
                    "(process {}) ended.",
                    state->supervisor_pid, state->pid)};
}

std::string boot_id() {
    const auto text = base::read_file("/proc/sys/kernel/random/boot_id", kBootIdBytesMax);
    return text ? std::string(base::trim(*text)) : std::string();
}

}  // namespace supervisor
