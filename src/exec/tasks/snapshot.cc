#include "exec/tasks/snapshot.h"

#include "domain/provider.h"
#include "exec/tasks/child_task.h"
#include "exec/tasks/decide.h"
#include "exec/tasks/output.h"
#include "exec/tasks/plan_task.h"

namespace tasks {
namespace {

using domain::TaskStatus;

bool is_command(const domain::Task& task) {
    return task.kind == domain::TaskKind::CommandTask;
}

// Kinds of older programs never block, whatever their detail says.
std::string wait_policy(const domain::Task& task) {
    if (task.kind == domain::TaskKind::SubagentTask ||
        task.kind == domain::TaskKind::WorktreeSubagentTask || !task.detail)
        return std::string(kBackground);
    return base::string_at(*task.detail, "wait_policy", kBackground);
}

json::value nullable(const std::optional<std::string>& text) {
    return text ? json::value(*text) : json::value(nullptr);
}

std::string failure_kind(const domain::Task& task, const CommandDetail& detail) {
    if (task.status == TaskStatus::Cancelled) return "task_cancelled";
    if (task.status == TaskStatus::Interrupted)
        return is_command(task) ? "command_task_interrupted" : "task_interrupted";
    if (!is_command(task)) return "task_failed";
    if (detail.exit_status) return "command_task_exit_nonzero";
    return detail.error ? "command_task_error" : "command_task_failed";
}

std::optional<domain::FailureArtifact> failure_artifact(const domain::Task& task) {
    if (task.status != TaskStatus::Failed && task.status != TaskStatus::Cancelled &&
        task.status != TaskStatus::Interrupted)
        return std::nullopt;
    const auto detail = detail_of(task);
    domain::FailureArtifact artifact{.category = domain::FailureCategory::Task,
                                     .kind = failure_kind(task, detail),
                                     .summary = "The task " + outcome_words(task) + ".",
                                     .task_id = task.id,
                                     .exit_status = detail.exit_status};
    std::map<std::string, std::string> metadata{
        {"task_status", std::string(base::enum_name(task.status))},
        {"error_present", detail.error ? "true" : "false"}};
    if (!detail.cmd.empty()) metadata["command"] = detail.cmd;
    if (detail.output_path) metadata["output_path"] = *detail.output_path;
    artifact.metadata = std::move(metadata);
    return artifact;
}

json::object command_status(const domain::Task& task) {
    const auto detail = detail_of(task);
    json::object command = command_identity(task);
    if (detail.output_path) command["output_path"] = *detail.output_path;
    if (domain::is_terminal(task.status)) command["result_summary"] = outcome_words(task);
    if (detail.exit_status) command["exit_status"] = *detail.exit_status;
    command["terminal_reentry"] = detail.terminal_reentry;
    if (detail.accepts_input) {
        command["accepts_input"] = true;
        if (detail.input_target) command["input_target"] = *detail.input_target;
    }
    return command;
}

}  // namespace

json::object command_identity(const domain::Task& task) {
    const auto detail = detail_of(task);
    json::object identity{{"cmd", detail.cmd}, {"cmd_digest", detail.cmd_digest}};
    if (detail.workdir) identity["workdir"] = *detail.workdir;
    if (detail.shell) identity["shell"] = *detail.shell;
    identity["login"] = detail.login;
    identity["tty"] = detail.tty;
    identity["promoted_from_exec_command"] = detail.promoted_from_exec_command;
    return identity;
}

namespace {

// Where the operator and TaskStatus find the run.
json::object plan_identity(const domain::Task& task) {
    const auto detail = plan_detail_of(task);
    return {{"run_id", detail.run_id},
            {"run_status", detail.run_status},
            {"risk_level", detail.risk_level},
            {"plan_hash", detail.plan_hash}};
}

bool is_plan(const domain::Task& task) {
    return task.kind == domain::TaskKind::PlanTask;
}

}  // namespace

json::object list_entry(const domain::Task& task) {
    json::object entry{{"id", task.id.value},
                       {"kind", base::enum_name(task.kind)},
                       {"status", base::enum_name(task.status)},
                       {"summary", nullable(task.summary)},
                       {"updated_at", base::to_text(task.updated_at)},
                       {"wait_policy", wait_policy(task)}};
    if (is_command(task)) entry["command"] = command_identity(task);
    if (is_plan(task)) entry["plan"] = plan_identity(task);
    return entry;
}

json::object status_snapshot(const domain::Task& task) {
    json::object snapshot{{"task_id", task.id.value},
                          {"kind", base::enum_name(task.kind)},
                          {"status", base::enum_name(task.status)},
                          {"created_at", base::to_text(task.created_at)},
                          {"updated_at", base::to_text(task.updated_at)},
                          {"wait_policy", wait_policy(task)}};
    if (task.summary) snapshot["summary"] = *task.summary;
    if (task.parent_message_id) snapshot["parent_message_id"] = task.parent_message_id->value;
    if (is_command(task)) snapshot["command"] = command_status(task);
    if (is_plan(task)) snapshot["plan"] = plan_identity(task);
    if (auto supervision = child_supervision(task)) {
        snapshot["child_agent_id"] = supervision->at("child_agent_id");
        if (auto observed = child_detail_of(task).child_observability)
            snapshot["child_observability"] = std::move(*observed);
        snapshot["child_supervision"] = std::move(*supervision);
    }
    return snapshot;
}

json::object output_snapshot(const domain::Task& task) {
    const auto detail = detail_of(task);
    const Shown shown = show_output(task);
    json::object snapshot{{"task_id", task.id.value},
                          {"kind", base::enum_name(task.kind)},
                          {"status", base::enum_name(task.status)},
                          {"summary", nullable(task.summary)},
                          {"output_preview", shown.text},
                          {"output_truncated", shown.truncated}};
    if (shown.from_file) {
        snapshot["artifacts"] = json::array{json::object{{"path", *detail.output_path}}};
        snapshot["output_artifact"] = 0;
    }
    snapshot["result_summary"] =
        domain::is_terminal(task.status) ? json::value(outcome_words(task)) : json::value(nullptr);
    snapshot["exit_status"] =
        detail.exit_status ? json::value(*detail.exit_status) : json::value(nullptr);
    if (const auto artifact = failure_artifact(task))
        snapshot["failure_artifact"] = base::to_json(*artifact);
    if (auto supervision = child_supervision(task))
        snapshot["child_supervision"] = std::move(*supervision);
    return snapshot;
}

json::object handle(const domain::Task& task) {
    json::object handle{{"task_id", task.id.value},
                        {"task_kind", base::enum_name(task.kind)},
                        {"status", base::enum_name(task.status)}};
    if (const auto detail = detail_of(task); detail.initial_output)
        handle["initial_output"] = *detail.initial_output;
    return handle;
}

bool has_terminal_snapshot(const domain::Task& task) {
    if (!domain::is_terminal(task.status)) return false;
    const auto detail = detail_of(task);
    return detail.output_path || detail.output_summary || detail.initial_output;
}

}  // namespace tasks
