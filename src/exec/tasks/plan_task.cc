#include "exec/tasks/plan_task.h"

namespace tasks {

using domain::TaskStatus;

PlanDetail plan_detail_of(const domain::Task& task) {
    if (!task.detail) return {};
    return base::from_json<PlanDetail>(*task.detail).value_or(PlanDetail{});
}

domain::Task plan_task(const PlanFacts& facts, base::Time now) {
    return {
        .id = facts.id,
        .agent_id = facts.agent_id,
        .kind = domain::TaskKind::PlanTask,
        .status = facts.is_waiting ? TaskStatus::Queued : TaskStatus::Running,
        .created_at = now,
        .updated_at = now,
        .parent_message_id = facts.parent_message_id,
        .work_item_id = facts.work_item_id,
        .summary = facts.detail.goal,
        .detail = base::to_json(facts.detail),
        .recovery = base::to_json(Recovery(PlanRecovery{
            .summary = facts.detail.goal, .run_id = facts.detail.run_id, .trust = facts.trust}))};
}

bool is_put_off(const domain::Task& task) {
    return task.kind == domain::TaskKind::PlanTask && task.status == TaskStatus::Queued;
}

domain::Task plan_running(domain::Task task, std::string run_status, base::Time now) {
    auto detail = plan_detail_of(task);
    detail.run_status = std::move(run_status);
    if (task.status == TaskStatus::Queued) task.status = TaskStatus::Running;
    task.detail = base::to_json(detail);
    task.updated_at = now;
    return task;
}

domain::Task plan_ended(domain::Task task, const PlanEnd& end, base::Time now) {
    auto detail = plan_detail_of(task);
    detail.run_status = end.run_status;
    detail.error = end.error;
    detail.cancelled_reason = end.cancelled_reason;
    detail.output_summary = end.receipt;
    detail.output_truncated = false;
    detail.terminal_snapshot_ready = true;
    task.status = end.status;
    task.detail = base::to_json(detail);
    task.updated_at = now;
    return task;
}

StopDecision decide_plan_stop(domain::Task task, base::Time now) {
    auto detail = plan_detail_of(task);
    return order_stop(std::move(task), std::move(detail), now);
}

}  // namespace tasks
