#include "flow/queue/read_results.h"

#include "domain/events/scheduler.h"
#include "flow/queue/queue.h"
#include "flow/queue/waits.h"

namespace queue {

base::Status drop_read_result(events::Log& log, const domain::Attempt& attempt,
                              const domain::TaskId& task) {
    const auto& agent = attempt.agent_id;
    const auto id = TRY(log.tx().known_message({.agent_id = agent}, task_result_key(task)));
    const auto queued = id ? TRY(log.tx().message(*id)) : std::nullopt;
    if (!queued || queued->entry.status != domain::QueueStatus::Queued) return {};
    TRY(release(log, *id, domain::QueueStatus::Dropped, "the result was read in a turn"));
    for (auto& wait : TRY(log.tx().open_waits(agent))) {
        if (wait.triggered_by != *id) continue;
        wait.status = domain::WaitStatus::Resolved;
        wait.resolved_by = attempt.run_id;
        wait.updated_at = log.now();
        TRY(log.tx().put_wait(wait));
        TRY(release_work_item(log, wait));
    }
    return log.append(agent,
                      domain::events::labelled(
                          domain::events::SchedulerDecision{.decision = "ReduceMessageOnly",
                                                            .reason = "task_result_already_read",
                                                            .message_id = *id,
                                                            .task_id = task,
                                                            .boundary = "message_processing"},
                          queued->message));
}

}  // namespace queue
