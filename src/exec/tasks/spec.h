// What a task's record says beyond its lifecycle: how to take it up again, and its detail.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/typed.h"
#include "domain/gate.h"
#include "domain/labels.h"
#include "domain/waiting.h"

namespace tasks {

// The command as it was asked for.
struct CommandTaskSpec {
    std::string cmd;
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    bool login{true};
    bool tty{false};
    std::int64_t yield_time_ms{0};
    std::optional<std::int64_t> max_output_tokens{};
    bool accepts_input{false};
    // The result comes back as a message. The runtime sets it; nobody can ask for it.
    bool terminal_reentry{true};
    friend bool operator==(const CommandTaskSpec&, const CommandTaskSpec&) = default;
};
BOOST_DESCRIBE_STRUCT(CommandTaskSpec, (),
                      (cmd, workdir, shell, login, tty, yield_time_ms, max_output_tokens,
                       accepts_input, terminal_reentry))
constexpr auto describe_fields(const CommandTaskSpec*) {
    return std::to_array<base::FieldDoc>({{.field = "workdir", .null_when_absent = true},
                                          {.field = "shell", .null_when_absent = true},
                                          {.field = "login", .has_default = true},
                                          {.field = "tty", .has_default = true},
                                          {.field = "yield_time_ms", .has_default = true},
                                          {.field = "max_output_tokens", .null_when_absent = true},
                                          {.field = "accepts_input", .has_default = true},
                                          {.field = "terminal_reentry", .has_default = true}});
}

enum class WorkspaceMode { Inherit, Worktree };
BOOST_DESCRIBE_ENUM(WorkspaceMode, Inherit, Worktree)

struct CommandRecovery {
    static constexpr std::string_view kTagKey = "kind", kTag = "command_task";
    std::string summary;
    CommandTaskSpec spec{};
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
    bool promoted_from_exec_command{false};
    friend bool operator==(const CommandRecovery&, const CommandRecovery&) = default;
};
struct ChildRecovery {
    static constexpr std::string_view kTagKey = "kind", kTag = "child_agent_task";
    std::string summary;
    std::string prompt;
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
    WorkspaceMode workspace_mode{WorkspaceMode::Inherit};
    friend bool operator==(const ChildRecovery&, const ChildRecovery&) = default;
};
// Only read: an older program wrote them for children.
struct SubagentRecovery {
    static constexpr std::string_view kTagKey = "kind", kTag = "subagent_task";
    std::string summary;
    std::string prompt;
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
    friend bool operator==(const SubagentRecovery&, const SubagentRecovery&) = default;
};
struct WorktreeSubagentRecovery {
    static constexpr std::string_view kTagKey = "kind", kTag = "worktree_subagent_task";
    std::string summary;
    std::string prompt;
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
    friend bool operator==(const WorktreeSubagentRecovery&,
                           const WorktreeSubagentRecovery&) = default;
};
// Its run is resumed from its own journal.
struct PlanRecovery {
    static constexpr std::string_view kTagKey = "kind", kTag = "plan_task";
    std::string summary;
    std::string run_id;
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
    friend bool operator==(const PlanRecovery&, const PlanRecovery&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanRecovery, (), (summary, run_id, trust))
BOOST_DESCRIBE_STRUCT(CommandRecovery, (), (summary, spec, trust, promoted_from_exec_command))
constexpr auto describe_fields(const CommandRecovery*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "promoted_from_exec_command", .has_default = true}});
}
BOOST_DESCRIBE_STRUCT(ChildRecovery, (), (summary, prompt, trust, workspace_mode))
BOOST_DESCRIBE_STRUCT(SubagentRecovery, (), (summary, prompt, trust))
BOOST_DESCRIBE_STRUCT(WorktreeSubagentRecovery, (), (summary, prompt, trust))

using Recovery = std::variant<CommandRecovery, ChildRecovery, SubagentRecovery,
                              WorktreeSubagentRecovery, PlanRecovery>;

// The record's recovery spec, or nothing. What older programs called `continue_on_result` is read
// as `terminal_reentry`.
base::Result<std::optional<Recovery>> recovery_of(const domain::Task& task);

// Of a task that supervises a child, in the old or the new spelling: whom, and where it works.
struct Supervised {
    std::optional<domain::AgentId> child_agent_id{};
    WorkspaceMode workspace_mode{WorkspaceMode::Inherit};
    friend bool operator==(const Supervised&, const Supervised&) = default;
};
std::optional<Supervised> supervised_by(const domain::Task& task);

inline constexpr std::string_view kBackground = "background";

// The `detail` of a command task. Anything may be missing in records of older programs.
struct CommandDetail {
    std::string cmd;
    std::string cmd_digest;
    std::string wait_policy{kBackground};
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    bool login{true};
    bool tty{false};
    std::int64_t yield_time_ms{0};
    std::optional<std::int64_t> max_output_tokens{};
    bool terminal_reentry{true};
    bool promoted_from_exec_command{false};
    bool accepts_input{false};
    std::optional<std::string> input_target{};  // stdin or tty, when it accepts input.
    std::optional<std::string> output_path{};
    std::optional<std::string> initial_output{};  // What there was when it became a task.
    std::optional<std::string> output_summary{};  // What there was at its end; see output.h.
    std::optional<bool> output_truncated{};
    bool terminal_snapshot_ready{false};
    std::optional<std::int64_t> exit_status{};
    std::optional<std::int64_t> signal{};
    std::optional<std::int64_t> output_dropped_bytes{};
    std::optional<std::string> error{};
    std::optional<bool> cancel_requested{};
    std::optional<bool> force_stop_requested{};
    std::optional<std::string> status_before_stop{};
    std::optional<std::string> cancelled_reason{};
    std::optional<bool> confined{};
    std::optional<std::string> network_log{};
    // Shown for the output, which nobody may see: not yet, or never.
    std::optional<std::string> output_withheld{};
    std::optional<domain::GateMark> gate{};  // Where the output passed the gate.
    friend bool operator==(const CommandDetail&, const CommandDetail&) = default;
};
BOOST_DESCRIBE_STRUCT(CommandDetail, (),
                      (cmd, cmd_digest, wait_policy, workdir, shell, login, tty, yield_time_ms,
                       max_output_tokens, terminal_reentry, promoted_from_exec_command,
                       accepts_input, input_target, output_path, initial_output, output_summary,
                       output_truncated, terminal_snapshot_ready, exit_status, signal,
                       output_dropped_bytes, error, cancel_requested, force_stop_requested,
                       status_before_stop, cancelled_reason, confined, network_log, output_withheld,
                       gate))
constexpr auto describe_fields(const CommandDetail*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "cmd", .has_default = true},
         {.field = "cmd_digest", .has_default = true},
         {.field = "wait_policy", .has_default = true},
         {.field = "login", .has_default = true},
         {.field = "tty", .has_default = true},
         {.field = "yield_time_ms", .has_default = true},
         {.field = "terminal_reentry", .has_default = true},
         {.field = "promoted_from_exec_command", .has_default = true},
         {.field = "accepts_input", .has_default = true},
         {.field = "terminal_snapshot_ready", .has_default = true}});
}

// On whose trust a task was started; the runtime's own when its record does not say so.
domain::TrustLevel trust_of(const domain::Task& task);

// The detail of a command task; an empty one when it has none or cannot be read.
CommandDetail detail_of(const domain::Task& task);

// The key by which to see whether two commands are the same one: equal for equal `cmd` only.
std::string cmd_digest(std::string_view cmd);
// The same command line in the same folder, run the same way. `workdir` is resolved.
bool is_same_command(const CommandDetail& running, const CommandTaskSpec& asked,
                     const std::string& workdir);

}  // namespace tasks
