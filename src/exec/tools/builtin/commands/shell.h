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

#include "base/os/loop.h"
#include "base/os/process.h"
#include "exec/sandbox/boundary.h"
#include "exec/tools/builtin/commands/command_output.h"
#include "exec/tools/tool.h"

namespace builtin {

struct CommandSpec {
    std::string cmd;
    // When set, this program is run as it is, without a shell; `cmd` is only shown.
    std::vector<std::string> argv{};
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    bool login{true};
    std::optional<std::int64_t> timeout_ms{};  // Absent: none.
    std::optional<std::int64_t> max_output_tokens{};
    // Where its network destinations are written down, if its boundary has an allow-list.
    std::filesystem::path network_log{};
};

struct ShellOptions {
    // What commands inherit. Secrets of the runtime itself are not in it.
    std::vector<std::pair<std::string, std::string>> environment;
    std::string default_shell{"sh"};
    results::OutputPolicy output{};
    sandbox::Boundary boundary{};                                 // What every command runs behind,
    std::map<std::string, sandbox::Boundary> agent_boundaries{};  // but for those of these agents.
    std::function<domain::Execution(const domain::AgentId&)> execution_of =
        [](const domain::AgentId&) { return domain::Execution{}; };
};

// The folder a command runs in, links resolved, or why it may not run there.
std::expected<std::filesystem::path, domain::ToolError> resolve_workdir(
    const tools::Place& place, const std::optional<std::string>& workdir, std::string_view tool);

// The log of a command that is over, or nothing, and no file, when nothing was written to it.
std::filesystem::path kept_network_log(const std::filesystem::path& log);

// What a command was kept from: one that ran, and one that did not.
std::vector<sandbox::Denial> denials_of(const CommandOutput& output);
std::vector<sandbox::Denial> denials_of(const domain::ToolError& error);

// What ExecCommand and ExecCommandBatch share; one per runtime, used on the loop only.
class Shell {
public:
    Shell(base::Loop& loop, base::ProcessRunner& runner, ShellOptions options);

    // What the commands of this agent run behind.
    const sandbox::Boundary& boundary(const domain::AgentId& agent) const;

    // Why no command at all may run at `place`, or nothing. prepare() asks it, too.
    std::optional<domain::ToolError> refusal(const tools::Place& place,
                                             std::string_view tool) const;

    // The process that runs the command below the place's execution root, behind the boundary, or
    // why it may not. Nothing in `spec` changes the boundary. Any thread may call it.
    std::expected<base::ProcessSpec, domain::ToolError> prepare(const CommandSpec& spec,
                                                                const tools::Place& place,
                                                                std::string_view tool) const;
    // What a command's output may take of memory before it goes to its spill files, in a folder
    // that exists.
    struct Room {
        std::size_t memory_bytes_max{0};
        std::filesystem::path stdout_spill;
        std::filesystem::path stderr_spill;
    };
    base::Result<Room> make_room(const CommandSpec& spec, results::ArtifactSink& sink) const;
    // Why a command that was prepared could not be started.
    static domain::ToolError spawn_failed(const base::ProcessSpec& process, std::string_view tool,
                                          const std::string& reason);

    using Finished = std::expected<std::unique_ptr<CommandOutput>, domain::ToolError>;

    // Runs the command below the place's execution root. `done` comes once, on the loop. Null
    // handle: it never started.
    std::shared_ptr<base::ProcessRunner::Handle> run(const CommandSpec& spec,
                                                     const tools::Place& place,
                                                     results::ArtifactSink& sink,
                                                     std::string_view tool,
                                                     std::move_only_function<void(Finished)> done);

    // Runs `body` between two snapshots of the execution root; `done` gets what changed. A root
    // found too large once is not read again.
    void observed(const std::filesystem::path& root,
                  std::move_only_function<void(base::Job finished)> body,
                  std::move_only_function<void(domain::Effects)> done);

    base::Loop& loop() { return loop_; }
    const std::string& default_shell() const { return options_.default_shell; }

private:
    base::Loop& loop_;
    base::ProcessRunner& runner_;
    ShellOptions options_;
    std::vector<std::filesystem::path> too_large_;
};

}  // namespace builtin
