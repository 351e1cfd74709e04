// Tasks that operators start, and the end of an agent's tasks.
#include <future>

#include "agent/workspace/workspace.h"
#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "exec/sandbox/denials.h"
#include "exec/tasks/snapshot/snapshot.h"
#include "service/local/agents/control.h"

namespace service {
namespace {

// How long the caller that starts a task waits for its record. The loop may be ending by then.
constexpr std::chrono::seconds kTaskStartMax{30};

// Has the loop do `ask`, and waits for what it answers with. The promise is kept by both: one that
// a loop drops with its last jobs would throw here.
template <class T>
base::Result<T> answered(Transactions& transactions,
                         const std::function<void(std::function<void(base::Result<T>)>)>& ask) {
    const auto promise = std::make_shared<std::promise<base::Result<T>>>();
    auto answer = promise->get_future();
    transactions.post([promise, ask] {
        ask([promise](base::Result<T> result) { promise->set_value(std::move(result)); });
    });
    if (answer.wait_for(kTaskStartMax) != std::future_status::ready)
        return base::fail(base::ErrorCode::Unavailable,
                          "there was no answer within {} s; the runtime is busy or ending",
                          kTaskStartMax.count());
    return answer.get();
}

}  // namespace

base::Result<domain::Task> LocalControl::stop_task(const std::string& agent,
                                                   const std::string& task, const Caller& caller) {
    TRY(check_operator(caller));
    const auto receipt =
        TRY(answered<tasks::StopReceipt>(parts_.transactions, [this, agent, task](auto done) {
            parts_.tasks.stop({agent}, domain::TaskId{task}, std::move(done));
        }));
    return receipt.task;
}

base::Result<domain::Task> LocalControl::send_task_input(const std::string& agent,
                                                         const std::string& task,
                                                         const std::string& text,
                                                         const Caller& caller) {
    TRY(check_operator(caller));
    const auto receipt = TRY(
        answered<tasks::InputReceipt>(parts_.transactions, [this, agent, task, text](auto done) {
            parts_.tasks.input({agent}, domain::TaskId{task}, text, std::move(done));
        }));
    if (!receipt.bytes_written)
        return base::fail(base::ErrorCode::Conflict, "task {} took no input: {}", task,
                          receipt.refusal);
    return receipt.task;
}

base::Result<json::object> LocalControl::task_output(const std::string& agent,
                                                     const std::string& task) {
    std::optional<domain::Task> known;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        known = TRY(tx.task(domain::TaskId{task}));
        return {};
    }));
    if (!known || known->agent_id.value != agent)
        return base::fail(base::ErrorCode::NotFound,
                          "agent {0} has no task {1}; see holon task list --agent {0}", agent,
                          task);
    return tasks::output_snapshot(*known);
}

base::Result<domain::Task> LocalControl::start_task(const std::string& agent,
                                                    const TaskRequest& request,
                                                    const Caller& caller) {
    const domain::AgentId id{agent};
    const domain::TaskId task = parts_.turn.ids.fresh<domain::TaskId>();
    tools::ExecutionContext place{.agent_id = id, .agent_home = parts_.turn.home_of(id)};
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
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
    parts_.transactions.post([this, started, command = std::move(*command)]() mutable {
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
base::Status LocalControl::note_denial(const domain::AgentId& agent, const domain::TaskId& task,
                                       const std::string& rule) {
    return parts_.transactions.write([&](events::Log& log) {
        return log.append(agent, domain::events::SandboxDenied{.agent_id = agent,
                                                               .tool = "task",
                                                               .task_id = task,
                                                               .rule = rule,
                                                               .what = "a command"});
    });
}

void LocalControl::order_stops(const domain::AgentId& agent) {
    parts_.transactions.post([this, agent] {
        parts_.tasks.active(agent, [&tasks = parts_.tasks,
                                    agent](const base::Result<std::vector<domain::Task>>& active) {
            if (!active) return;
            // Why one could not be stopped is of no use: a task that is left ends by itself.
            for (const auto& task : *active)
                tasks.stop(agent, task.id, [](const base::Result<tasks::StopReceipt>&) {});
        });
    });
}

}  // namespace service
