#include "exec/tasks/commits.h"

#include "domain/events/tasks.h"
#include "domain/events/tools.h"

namespace tasks {

base::Result<domain::Task> commit_running(events::Log& log, const CommandRequest& request,
                                          const results::Preview& initial, bool promoted,
                                          bool withheld) {
    CommandFacts facts{.id = request.id,
                       .agent_id = request.agent_id,
                       .summary = request.summary,
                       .spec = request.spec,
                       .workdir = request.workdir.string(),
                       .output_path = request.output_path.string(),
                       .confined = request.confined,
                       .network_log = request.network_log.string(),
                       .promoted_from_exec_command = promoted,
                       .trust = domain::trust_of(request.authority_class),
                       .withholds_output = withheld};
    if (request.run_id)
        if (const auto attempt = TRY(log.tx().attempt(*request.run_id))) {
            facts.parent_message_id = attempt->message_id;
            facts.work_item_id = attempt->work_item_id;
        }
    auto task = running_task(facts, initial, log.now());
    TRY(log.tx().put_task(task));
    TRY(log.append(task.agent_id, domain::events::TaskCreated(task)));
    TRY(log.append(task.agent_id, domain::events::CommandTaskRunningPersisted{task.id}));
    return task;
}

base::Result<bool> commit_end(events::Log& log, const Rejoin& rejoin, const domain::TaskId& id,
                              const supervisor::End& end, const results::Preview& output,
                              const std::vector<sandbox::Denial>& denials,
                              const std::optional<OutputAnswer>& answer) {
    auto task = TRY(log.tx().task(id));
    if (!task || domain::is_terminal(task->status)) return false;
    *task = ended_task(judged_task(std::move(*task), answer), end, output, log.now());
    TRY(log.tx().put_task(*task));
    TRY(log.append(task->agent_id, domain::events::CommandTaskTerminalPersisted(*task)));
    TRY(log.append(task->agent_id, domain::events::TaskStatusUpdated(*task)));
    for (const auto& denial : denials)
        TRY(log.append(task->agent_id, domain::events::SandboxDenied{
                                           .agent_id = task->agent_id,
                                           .work_item_id = task->work_item_id,
                                           .tool = "task",
                                           .task_id = id,
                                           .rule = std::string(base::enum_name(denial.rule)),
                                           .what = denial.what,
                                           .count = denial.count}));
    const auto message = log.ids().fresh<domain::MessageId>();
    TRY(rejoin(log, result_message(*task, output, message, log.now())));
    TRY(log.append(task->agent_id, domain::events::TaskResultReceived(*task)));
    return true;
}

}  // namespace tasks
