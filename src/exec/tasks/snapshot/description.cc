#include "exec/tasks/snapshot/description.h"

#include "exec/tasks/child_task.h"
#include "exec/tasks/decide.h"
#include "exec/tasks/plan_task.h"

namespace tasks {
namespace {

json::object no_members(const domain::Task& /*task*/) {
    return {};
}
std::string_view task_failed(const domain::Task& /*task*/) {
    return "task_failed";
}

json::object command_list_members(const domain::Task& task) {
    return {{"command", command_identity(task)}};
}
json::object command_status_members(const domain::Task& task) {
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
    return {{"command", std::move(command)}};
}
std::string_view command_failure_kind(const domain::Task& task) {
    const auto detail = detail_of(task);
    if (detail.exit_status) return "command_task_exit_nonzero";
    return detail.error ? "command_task_error" : "command_task_failed";
}

// Where the operator and TaskStatus find the run.
json::object plan_members(const domain::Task& task) {
    const auto detail = plan_detail_of(task);
    return {{"plan", json::object{{"run_id", detail.run_id},
                                  {"run_status", detail.run_status},
                                  {"risk_level", detail.risk_level},
                                  {"plan_hash", detail.plan_hash}}}};
}

json::object child_status_members(const domain::Task& task) {
    auto supervision = child_supervision(task);
    if (!supervision) return {};
    json::object members{{"child_agent_id", supervision->at("child_agent_id")}};
    if (auto observed = child_detail_of(task).child_observability)
        members["child_observability"] = std::move(*observed);
    members["child_supervision"] = std::move(*supervision);
    return members;
}
json::object child_output_members(const domain::Task& task) {
    auto supervision = child_supervision(task);
    if (!supervision) return {};
    return {{"child_supervision", std::move(*supervision)}};
}

constexpr Description kCommand{.list_members = command_list_members,
                               .status_members = command_status_members,
                               .output_members = no_members,
                               .failure_kind = command_failure_kind,
                               .interrupted_kind = "command_task_interrupted"};
constexpr Description kPlan{.list_members = plan_members,
                            .status_members = plan_members,
                            .output_members = no_members,
                            .failure_kind = task_failed,
                            .interrupted_kind = "task_interrupted"};
constexpr Description kChild{.list_members = no_members,
                             .status_members = child_status_members,
                             .output_members = child_output_members,
                             .failure_kind = task_failed,
                             .interrupted_kind = "task_interrupted"};
// Of older programs. They never block, whatever their detail says.
constexpr Description kSubagent{.list_members = no_members,
                                .status_members = child_status_members,
                                .output_members = child_output_members,
                                .failure_kind = task_failed,
                                .interrupted_kind = "task_interrupted",
                                .has_wait_policy = false};
constexpr Description kSleep{.list_members = no_members,
                             .status_members = no_members,
                             .output_members = no_members,
                             .failure_kind = task_failed,
                             .interrupted_kind = "task_interrupted"};

}  // namespace

const Description& description_of(domain::TaskKind kind) {
    switch (kind) {
        case domain::TaskKind::CommandTask:
            return kCommand;
        case domain::TaskKind::ChildAgentTask:
            return kChild;
        case domain::TaskKind::SubagentTask:
        case domain::TaskKind::WorktreeSubagentTask:
            return kSubagent;
        case domain::TaskKind::PlanTask:
            return kPlan;
        case domain::TaskKind::SleepJob:
            return kSleep;
    }
    return kSleep;
}

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

}  // namespace tasks
