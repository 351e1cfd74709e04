// Events of tool calls and of the commands that they run.
#pragma once

#include "domain/events/payload.h"
#include "domain/skill.h"
#include "domain/tool.h"

namespace domain::events {

// One command of a batch, with credentials masked.
struct BatchItem {
    std::int64_t index{0};
    std::string cmd;
    friend bool operator==(const BatchItem&, const BatchItem&) = default;
};
BOOST_DESCRIBE_STRUCT(BatchItem, (), (index, cmd))

struct ProcessExecutionRequested {
    static constexpr std::string_view kKind = "process_execution_requested";
    AgentId agent_id;
    std::int64_t turn_index{0};
    RunId run_id;
    std::int64_t round{0};
    std::optional<WorkItemId> work_item_id{};
    std::string surface;  // The tool.
    ToolCallId tool_call_id;
    MessageId message_id;
    TrustLevel trust{TrustLevel::UntrustedExternal};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    AuthorityClass instructed_by{AuthorityClass::ExternalEvidence};
    std::optional<std::string> exec_command_cmd{};
    std::optional<std::vector<BatchItem>> exec_command_batch_items{};
    std::string cmd_preview;
    std::string workdir;
    std::optional<std::string> execution_root{};
    std::optional<json::object> boundary{};
};
BOOST_DESCRIBE_STRUCT(ProcessExecutionRequested, (),
                      (agent_id, turn_index, run_id, round, work_item_id, surface, tool_call_id,
                       message_id, trust, authority_class, instructed_by, exec_command_cmd,
                       exec_command_batch_items, cmd_preview, workdir, execution_root, boundary))
constexpr auto describe_fields(const ProcessExecutionRequested*) {
    return null_when_absent("work_item_id");
}

// What the events of a finished call have in common.
struct ToolFinished {
    AgentId agent_id;
    std::int64_t turn_index{0};
    RunId run_id;
    std::int64_t round{0};
    std::optional<WorkItemId> work_item_id{};
    ToolCallId tool_call_id;
    std::string tool_name;
    std::optional<std::string> exec_command_cmd{};
    std::optional<std::vector<BatchItem>> exec_command_batch_items{};
    ResultStatus status{ResultStatus::Ok};
    std::int64_t duration_ms{0};
    std::string summary;
    std::optional<std::string> error{};  // A ToolError as pretty JSON text; null without one.
};
BOOST_DESCRIBE_STRUCT(ToolFinished, (),
                      (agent_id, turn_index, run_id, round, work_item_id, tool_call_id, tool_name,
                       exec_command_cmd, exec_command_batch_items, status, duration_ms, summary,
                       error))
constexpr auto describe_fields(const ToolFinished*) {
    return null_when_absent("work_item_id", "error");
}

struct ToolExecuted : ToolFinished {
    static constexpr std::string_view kKind = "tool_executed";
    std::optional<json::value> exit_status{};  // Of a command.
};
BOOST_DESCRIBE_STRUCT(ToolExecuted, (ToolFinished), (exit_status))

struct ToolExecutionFailed : ToolFinished {
    static constexpr std::string_view kKind = "tool_execution_failed";
    std::string error_kind;
    json::value tool_error;  // A ToolError.
};
BOOST_DESCRIBE_STRUCT(ToolExecutionFailed, (ToolFinished), (error_kind, tool_error))

// The sandbox kept a command from something. `tool_call_id` and the place in the turn are there for
// a call, `task_id` for a task.
struct SandboxDenied {
    static constexpr std::string_view kKind = "sandbox_denied";
    AgentId agent_id;
    std::optional<std::int64_t> turn_index{};
    std::optional<RunId> run_id{};
    std::optional<std::int64_t> round{};
    std::optional<WorkItemId> work_item_id{};
    std::string tool;
    std::optional<ToolCallId> tool_call_id{};
    std::optional<TaskId> task_id{};
    std::string rule;
    std::string what;
    std::int64_t count{1};
};
BOOST_DESCRIBE_STRUCT(SandboxDenied, (),
                      (agent_id, turn_index, run_id, round, work_item_id, tool, tool_call_id,
                       task_id, rule, what, count))
constexpr auto describe_fields(const SandboxDenied*) {
    return null_when_absent("work_item_id");
}

// A call was refused because of who asked for it; `proposal_id` names what the operator can
// approve.
struct ToolCallRefused {
    static constexpr std::string_view kKind = "tool_call_refused";
    AgentId agent_id;
    RunId run_id;
    std::int64_t round{0};
    ToolCallId tool_call_id;
    std::string tool_name;
    RiskLevel risk_level{RiskLevel::ReadOnly};
    AuthorityClass instructed_by{AuthorityClass::ExternalEvidence};
    std::string error_kind;
    std::string reason;
    Origin origin{};
    TrustLevel trust{TrustLevel::UntrustedExternal};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    Priority priority{Priority::Normal};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
    std::optional<std::string> proposal_id{};
};
BOOST_DESCRIBE_STRUCT(ToolCallRefused, (),
                      (agent_id, run_id, round, tool_call_id, tool_name, risk_level, instructed_by,
                       error_kind, reason, origin, trust, authority_class, priority,
                       delivery_surface, admission_context, proposal_id))

struct TruncatedMutationToolCallRejected {
    static constexpr std::string_view kKind = "truncated_mutation_tool_call_rejected";
    ToolCallId tool_call_id;
    std::string tool_name;
    std::string stop_reason;
    std::int64_t round{0};
    std::string error_kind;
    ToolError tool_error{};
};
BOOST_DESCRIBE_STRUCT(TruncatedMutationToolCallRejected, (),
                      (tool_call_id, tool_name, stop_reason, round, error_kind, tool_error))

// A command of the agent referred to a skill. `path` is what it referred to, `entrypoint_path` the
// skill's SKILL.md.
struct SkillActivated {
    static constexpr std::string_view kKind = "skill_activated";
    AgentId agent_id;
    std::string skill_id;
    std::string skill_name;
    std::string path;
    std::string entrypoint_path;
    SkillScope scope{SkillScope::Agent};
    ActivationSource activation_source{ActivationSource::ImplicitFromCatalog};
    ActivationState activation_state{ActivationState::TurnActive};
    LoadReason load_reason{LoadReason::ReadSkillMd};
    std::int64_t turn_index{0};
    RunId run_id;
    bool repeated{false};
};
BOOST_DESCRIBE_STRUCT(SkillActivated, (),
                      (agent_id, skill_id, skill_name, path, entrypoint_path, scope,
                       activation_source, activation_state, load_reason, turn_index, run_id,
                       repeated))

}  // namespace domain::events
