#include "exec/tasks/snapshot/description.h"

#include <gmock/gmock.h>

#include "exec/tasks/child_task.h"
#include "exec/tasks/plan_task.h"
#include "exec/tasks/snapshot/snapshot.h"

namespace tasks {
namespace {

using domain::TaskKind;
using domain::TaskStatus;

domain::Task of(TaskKind kind, TaskStatus status = TaskStatus::Running, json::object detail = {}) {
    return {.id = {"t"},
            .agent_id = {"main"},
            .kind = kind,
            .status = status,
            .detail = json::value(std::move(detail))};
}

// The members of a snapshot that tasks of kinds with nothing of their own do not have, as text.
std::string added(const json::object& snapshot, const json::object& plain) {
    json::object extra;
    for (const auto& member : snapshot)
        if (!plain.contains(member.key())) extra[member.key()] = member.value();
    return json::serialize(extra);
}

TEST(Description, EachKindAddsItsMembersToLifecycleAndCoordination) {
    const std::string command =
        R"({"command":{"cmd":"make","cmd_digest":"d","workdir":"/w","login":true,"tty":false,)"
        R"("promoted_from_exec_command":false)";
    const std::string plan =
        R"({"plan":{"run_id":"r","run_status":"running","risk_level":"writes","plan_hash":"h"}})";
    const std::string inherits =
        R"({"parent_agent_id":"main","child_agent_id":"ada","supervision_task_id":"t",)"
        R"("workspace_mode":"inherit","cleanup_owner":"supervision_task",)"
        R"("followup_target":"parent_supervisor"})";
    const std::string worktree =
        R"({"parent_agent_id":"main","child_agent_id":"ada","supervision_task_id":"t",)"
        R"("workspace_mode":"worktree","cleanup_owner":"supervision_task",)"
        R"("followup_target":"parent_supervisor"})";
    const json::object child{{"child_agent_id", "ada"}};
    struct Row {
        TaskKind kind;
        json::object detail;
        std::string listed;
        std::string status;
        std::string output;
    };
    const std::vector<Row> rows{
        {TaskKind::CommandTask,
         base::to_json(CommandDetail{.cmd = "make",
                                     .cmd_digest = "d",
                                     .workdir = "/w",
                                     .output_path = "/log",
                                     .exit_status = 0})
             .as_object(),
         command + "}}",
         command + R"(,"output_path":"/log","exit_status":0,"terminal_reentry":true}})", "{}"},
        {TaskKind::PlanTask,
         base::to_json(
             PlanDetail{
                 .run_id = "r", .run_status = "running", .plan_hash = "h", .risk_level = "writes"})
             .as_object(),
         plan, plan, "{}"},
        {TaskKind::ChildAgentTask, child, "{}",
         R"({"child_agent_id":"ada","child_supervision":)" + inherits + "}",
         R"({"child_supervision":)" + inherits + "}"},
        {TaskKind::SubagentTask, child, "{}",
         R"({"child_agent_id":"ada","child_supervision":)" + inherits + "}",
         R"({"child_supervision":)" + inherits + "}"},
        {TaskKind::WorktreeSubagentTask, child, "{}",
         R"({"child_agent_id":"ada","child_supervision":)" + worktree + "}",
         R"({"child_supervision":)" + worktree + "}"}};
    const auto plain = of(TaskKind::SleepJob);
    for (const auto& row : rows) {
        const auto task = of(row.kind, TaskStatus::Running, row.detail);
        SCOPED_TRACE(base::enum_name(row.kind));
        EXPECT_EQ(added(list_entry(task), list_entry(plain)), row.listed);
        EXPECT_EQ(added(status_snapshot(task), status_snapshot(plain)), row.status);
        const json::object members = description_of(row.kind).output_members(task);
        EXPECT_EQ(json::serialize(members), row.output);
    }
}

TEST(Description, AFailureSaysOfCommandsHowTheyFailed) {
    const auto kind = [](TaskKind of_task, TaskStatus status, json::object detail = {}) {
        const auto shown = output_snapshot(of(of_task, status, std::move(detail)));
        return base::string_at(shown.at("failure_artifact"), "kind");
    };
    using enum TaskStatus;
    EXPECT_EQ(kind(TaskKind::CommandTask, Failed, {{"exit_status", 2}}),
              "command_task_exit_nonzero");
    EXPECT_EQ(kind(TaskKind::CommandTask, Failed, {{"error", "gone"}}), "command_task_error");
    EXPECT_EQ(kind(TaskKind::CommandTask, Failed), "command_task_failed");
    EXPECT_EQ(kind(TaskKind::CommandTask, Interrupted), "command_task_interrupted");
    EXPECT_EQ(kind(TaskKind::CommandTask, Cancelled), "task_cancelled");
    for (const auto other :
         {TaskKind::ChildAgentTask, TaskKind::PlanTask, TaskKind::SubagentTask}) {
        EXPECT_EQ(kind(other, Failed), "task_failed");
        EXPECT_EQ(kind(other, Interrupted), "task_interrupted");
        EXPECT_EQ(kind(other, Cancelled), "task_cancelled");
    }
}

TEST(Description, KindsOfOlderProgramsNeverBlock) {
    const json::object blocks{{"wait_policy", "blocking"}};
    const auto policy = [&](TaskKind kind) {
        return base::string_at(list_entry(of(kind, TaskStatus::Running, blocks)), "wait_policy");
    };
    EXPECT_EQ(policy(TaskKind::ChildAgentTask), "blocking");
    EXPECT_EQ(policy(TaskKind::SubagentTask), "background");
    EXPECT_EQ(policy(TaskKind::WorktreeSubagentTask), "background");
}

}  // namespace
}  // namespace tasks
