// Running one command line the way both command tools do: rooted, observed, bounded.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/os/lifetime.h"
#include "base/os/loop.h"
#include "base/os/process.h"
#include "exec/sandbox/boundary.h"
#include "exec/tools/builtin/commands/command_output.h"
#include "exec/tools/builtin/login/login_environment.h"
#include "exec/tools/seen.h"
#include "exec/tools/tool.h"

namespace builtin {

struct CommandSpec {
    std::string cmd;
    // When set, this program is run as it is, without a shell; `cmd` is only shown.
    std::vector<std::string> argv{};
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    bool login{true};
    bool tty{false};  // It has a terminal, and needs its variables.
    // Whose instruction it follows: decides its network where the boundary does so.
    domain::AuthorityClass instructed_by{domain::AuthorityClass::OperatorInstruction};
    std::optional<std::int64_t> timeout_ms{};  // Absent: none.
    std::optional<std::int64_t> max_output_tokens{};
    // Where its network destinations are written down, if its boundary has an allow-list.
    std::filesystem::path network_log{};
    // A mark by which another process finds what is left of it (left_behind.h); empty: none.
    std::string mark{};
};

struct ShellOptions {
    // What commands inherit. Secrets of the runtime itself are not in it.
    std::vector<std::pair<std::string, std::string>> environment;
    std::string default_shell{"sh"};
    results::OutputPolicy output{};
    sandbox::Boundary boundary{};                                 // What every command runs behind,
    std::map<std::string, sandbox::Boundary> agent_boundaries{};  // but for those of these agents.
    // Whose settings hold for an agent; a child has those of the agent that delegated to it.
    std::function<std::string(const domain::AgentId&)> settings_of =
        [](const domain::AgentId& agent) { return agent.value; };
    // Null: each command that asks for a login shell starts one.
    std::shared_ptr<LoginEnvironments> login{};
    std::function<domain::Execution(const domain::AgentId&)> execution_of =
        [](const domain::AgentId&) { return domain::Execution{}; };
};

// The folder a command runs in, links resolved, or why it may not run there. Reads the disk.
std::expected<std::filesystem::path, domain::ToolError> resolve_workdir(
    const tools::ExecutionContext& place, const std::optional<std::string>& workdir,
    std::string_view tool);

// The command line as its words are searched for file names. Pure.
tools::CommandWords words_of(std::string cmd, const std::optional<std::string>& workdir,
                             const tools::ExecutionContext& place);

// Completes the output of a command that is over, from files: its network log, if anything was
// written to it, and what the boundary kept it from. Blocks; any thread.
void read_denials(CommandOutput& output);

// What a command that did not run was kept from.
std::vector<sandbox::Denial> denials_of(const domain::ToolError& error);

// The kind of error of a command that was cancelled before it started.
inline constexpr const char* kCancelled = "tool_cancelled";

// What ExecCommand and ExecCommandBatch share; one per runtime. Used on the loop, which it does not
// block, but for the functions that say otherwise.
class Shell {
public:
    Shell(base::Loop& loop, base::ProcessRunner& runner, ShellOptions options);

    // What the commands of this agent run behind.
    const sandbox::Boundary& boundary(const domain::AgentId& agent) const;

    // Why no command at all may run at `place`, or nothing. prepare() asks it, too. Blocks; any
    // thread.
    std::optional<domain::ToolError> refusal(const tools::ExecutionContext& place,
                                             std::string_view tool) const;

    // The process that runs the command below the place's execution root, behind the boundary, or
    // why it may not. Nothing in `spec` changes the boundary. Blocks; any thread.
    std::expected<base::ProcessSpec, domain::ToolError> prepare(
        const CommandSpec& spec, const tools::ExecutionContext& place, std::string_view tool) const;
    // What a command's output may take of memory before it goes to its spill files.
    struct Room {
        std::size_t memory_bytes_max{0};
        std::filesystem::path stdout_spill;
        std::filesystem::path stderr_spill;
    };
    // Chooses names only.
    Room reserve_room(const CommandSpec& spec, results::ArtifactSink& sink) const;
    // Makes the folder of the spill files, so that no spill fails for want of one. Blocks; any
    // thread.
    static std::expected<void, domain::ToolError> make_room(const Room& room);
    // Why a command that was prepared could not be started.
    static domain::ToolError spawn_failed(const base::ProcessSpec& process, std::string_view tool,
                                          const std::string& reason);

    using Finished = std::expected<std::unique_ptr<CommandOutput>, domain::ToolError>;

    // Runs the command below the place's execution root. `done` comes once, on the loop, after
    // run() has returned, unless this Shell goes first. A command that is cancelled before it has
    // started does not start; its error is of the kind kCancelled. Never null.
    std::shared_ptr<base::ProcessRunner::Handle> run(const CommandSpec& spec,
                                                     const tools::ExecutionContext& place,
                                                     results::ArtifactSink& sink,
                                                     std::string_view tool,
                                                     std::move_only_function<void(Finished)> done);

    // Runs `work` in the background, where it may block and use this Shell, and then `then` on the
    // loop with its result; neither when this Shell is gone. Both are destroyed on the loop.
    template <class T>
    void offload(std::move_only_function<std::expected<T, domain::ToolError>()> work,
                 std::move_only_function<void(std::expected<T, domain::ToolError>)> then) {
        using Answer = std::expected<T, domain::ToolError>;
        base::run_in_background<Answer>(
            loop_, lifetime_,
            [work = std::move(work)]() mutable -> base::Result<Answer> { return work(); },
            [then = std::move(then)](base::Result<Answer> answer) mutable {
                if (answer) return then(std::move(*answer));
                then(std::unexpected(domain::ToolError{.kind = "tool_execution_failed",
                                                       .message = answer.error().message}));
            });
    }

    struct Observed {
        domain::Effects effects{};
        std::optional<domain::SeenFiles> seen{};  // Absent: no file of it is known.
    };
    // Runs `body`, which runs the commands, between two snapshots of the execution root; `done`
    // gets what changed and what is in the files that were named or changed. A root found too large
    // once is not read again; files that the commands name are.
    void observed(const tools::ExecutionContext& place, std::vector<tools::CommandWords> commands,
                  std::move_only_function<void(base::Job finished)> body,
                  std::move_only_function<void(Observed)> done);

    base::Loop& loop() { return loop_; }
    const std::string& default_shell() const { return options_.default_shell; }

private:
    class Attempt;
    struct Looks;

    std::string choose_program(base::ProcessSpec& process, const CommandSpec& spec,
                               bool is_confined) const;

    base::Loop& loop_;
    base::ProcessRunner& runner_;
    ShellOptions options_;
    std::vector<std::filesystem::path> too_large_;
    base::Lifetime lifetime_;  // Last: it ends first.
};

}  // namespace builtin
