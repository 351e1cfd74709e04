// The tasks of agents, as the service looks after them.
#include <future>

#include "agent/workspace/workspace.h"
#include "base/log/log.h"
#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "exec/sandbox/denials.h"
#include "exec/tasks/plan_task.h"
#include "service/local/local_service.h"

namespace service {
namespace {

// Agents whose tasks are taken up when the service starts.
constexpr std::int64_t kRecoveredAgentsMax = 100'000;
// How long whoever starts a task waits for its record. The loop may be ending by then.
constexpr std::chrono::seconds kTaskStartMax{30};
// How long tasks of an agent that is about to go may take to end, softly and then by force.
constexpr std::chrono::milliseconds kTasksSettleMax{2000};

}  // namespace

LocalService::Left LocalService::left(const domain::AgentId& agent) {
    Left left = Left::Nothing;
    // One look at both: a task that ends between two would be seen in neither.
    const auto status = read([&](store::Tx& tx) -> base::Status {
        if (TRY(tx.pending_count(agent)) > 0)
            left = Left::Result;
        else if (!std::ranges::all_of(TRY(tx.active_tasks(agent)), tasks::is_put_off))
            left = Left::Task;
        return {};
    });
    return status ? left : Left::Nothing;
}

bool LocalService::has_active_tasks(const domain::AgentId& agent) const {
    const auto active = parts_.tasks.active(agent);
    return active && !active->empty();
}

base::Result<domain::Task> LocalService::start_task(const std::string& agent,
                                                    const TaskRequest& request,
                                                    const Caller& caller) {
    const domain::AgentId id{agent};
    const domain::TaskId task = parts_.turn.ids.fresh<domain::TaskId>();
    tools::Place place{.agent_id = id, .agent_home = parts_.turn.home_of(id)};
    TRY(write([&](events::Log& log) -> base::Status {
        const auto known = TRY(known_agent(log.tx(), id));
        if (known.stopped)
            return std::unexpected(
                base::Error{base::ErrorCode::Conflict,
                            fmt::format("agent {} is stopped; start it first", agent),
                            "agent_stopped",
                            {{"agent_id", agent}, {"hint", "holon agent start " + agent}}});
        place.workspace =
            known.active_workspace_entry.value_or(workspace::agent_home(id, place.agent_home));
        return log.append(
            id,
            domain::events::TaskCreateRequested{
                .target_agent_id = id,
                .task_id = task,
                .admission_context = caller.admission,
                .provided_trust = request.trust.value_or(domain::TrustLevel::TrustedOperator),
                .boundary = workspace::boundary(parts_.turn.execution_of(id), place.workspace)});
    }));
    const auto refused = [&](const base::Error& error) -> base::Result<domain::Task> {
        if (base::enum_from<sandbox::Rule>(error.kind)) TRY(note_denial(id, task, error.kind));
        return std::unexpected(error);
    };
    auto command = parts_.task_of(request, place, task);
    if (!command) return refused(command.error());
    // The loop starts it; this thread waits for the record. It keeps the promise, too: one that a
    // loop drops with its last tasks would throw here.
    const auto started = std::make_shared<std::promise<base::Result<domain::Task>>>();
    auto answer = started->get_future();
    post([this, started, command = std::move(*command)]() mutable {
        parts_.tasks.create(std::move(command), [started](base::Result<domain::Task> record) {
            started->set_value(std::move(record));
        });
    });
    if (answer.wait_for(kTaskStartMax) != std::future_status::ready)
        return base::fail(base::ErrorCode::Unavailable,
                          "task {} was not started within {} s; the runtime is busy or ending. See "
                          "holon task --list before you start it again",
                          task, kTaskStartMax.count());
    auto record = answer.get();
    return record ? std::move(record) : refused(record.error());
}

// A task that was not started, for the audit.
base::Status LocalService::note_denial(const domain::AgentId& agent, const domain::TaskId& task,
                                       const std::string& rule) {
    return write([&](events::Log& log) {
        return log.append(agent, domain::events::SandboxDenied{.agent_id = agent,
                                                               .tool = "task",
                                                               .task_id = task,
                                                               .rule = rule,
                                                               .what = "a command"});
    });
}

void LocalService::recover_tasks() {
    std::vector<domain::AgentId> agents;
    const auto status = read([&](store::Tx& tx) -> base::Status {
        agents = TRY(tx.agents_with_active_tasks(kRecoveredAgentsMax));
        return {};
    });
    if (!status) base::log_error("tasks cannot be taken up: {}", status.error().message);
    if (!agents.empty()) parts_.tasks.recover(agents);
}

void LocalService::order_stops(const domain::AgentId& agent) {
    post([this, agent] {
        const auto active = parts_.tasks.active(agent);
        if (!active) return;
        // Why one could not be stopped is of no use: whoever is left ends by itself.
        for (const auto& task : *active)
            parts_.tasks.stop(agent, task.id, [](const base::Result<tasks::StopReceipt>&) {});
    });
}

void LocalService::stop_tasks(const domain::AgentId& agent) {
    if (!has_active_tasks(agent)) return;
    order_stops(agent);
    if (is_resident_) return;
    // The agent is not woken any more by what comes back.
    const auto woken = std::exchange(parts_.tasks.on_result, [this, agent](const domain::AgentId&) {
        if (!has_active_tasks(agent)) parts_.stop_loop();
    });
    auto& loop = parts_.turn.loop;
    const auto force = loop.after(kTasksSettleMax, [this, agent] { order_stops(agent); });
    const auto give_up = loop.after(2 * kTasksSettleMax, [this] { parts_.stop_loop(); });
    parts_.run_loop();
    loop.cancel(force);
    loop.cancel(give_up);
    parts_.tasks.on_result = woken;
}

}  // namespace service
