// One prompt, run to its end.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

#include "agent/identity/closure.h"
#include "agent/workspace/moves.h"
#include "agent/workspace/workspace.h"
#include "base/log/log.h"
#include "exec/tasks/plan_task.h"
#include "exec/tasks/snapshot.h"
#include "flow/ingress/ingress.h"
#include "service/local/collector.h"
#include "service/local/local_service.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

// How long tasks of an agent that is about to go may take to end, softly and then by force.
constexpr std::chrono::milliseconds kTasksSettleMax{2000};
constexpr std::string_view kTasksStopped = "its tasks are being stopped";
constexpr std::string_view kTemporaryPrefix = "tmp_";

bool is_temporary(const domain::AgentId& agent) {
    return agent.value.starts_with(kTemporaryPrefix);
}

bool may_create(const RunRequest& request) {
    return !request.agent || request.create_agent;
}

FinalStatus final_status(const domain::ClosureDecision& closure,
                         const std::optional<domain::TurnTerminal>& terminal,
                         const std::string& rest_reason) {
    const std::string reason = terminal ? terminal->reason.value_or("") : "";
    if (rest_reason == scheduler::kBudgetSpent || reason == domain::kReasonRoundLimit)
        return FinalStatus::MaxTurnsExceeded;
    if (reason == domain::kReasonInterrupted) return FinalStatus::Interrupted;
    if (closure.outcome == domain::ClosureOutcome::Failed) return FinalStatus::Failed;
    return closure.outcome == domain::ClosureOutcome::Waiting ? FinalStatus::Waiting
                                                              : FinalStatus::Completed;
}

// The files that these calls have changed, each once, sorted.
base::Result<std::vector<std::string>> changed_files(store::Tx& tx,
                                                     const std::vector<std::string>& patch_calls) {
    std::set<std::string> changed;
    for (const auto& call : patch_calls) {
        const auto execution = TRY(tx.tool_execution(domain::ToolCallId{call}));
        if (!execution || !execution->result || !execution->result->data) continue;
        const auto* files = base::find(*execution->result->data, "changed_files");
        if (!files || !files->is_array()) continue;
        for (const auto& file : files->get_array()) changed.insert(base::string_at(file, "path"));
    }
    return std::vector<std::string>(changed.begin(), changed.end());
}

std::unexpected<base::Error> no_such_agent(const domain::AgentId& id) {
    return fail(ErrorCode::NotFound, "there is no agent '{}'; add --create-agent to make it", id);
}

}  // namespace

// What a run has seen so far.
struct LocalService::Run {
    Collector collector;
    Observer* observer{nullptr};
    bool wait_for_tasks{true};
    std::optional<base::Error> stuck{};
    std::string rest_reason{};
    std::function<void()> on_end{};
    bool is_over{false};
    bool interrupted{false};
    base::Lifetime lifetime{};

    void end(const std::string& reason, const std::optional<base::Error>& error) {
        if (is_over) return;
        is_over = true;
        rest_reason = reason;
        stuck = error;
        on_end();
    }
};

void LocalService::connect() {
    scheduler_.on_rest = [this](const domain::AgentId& agent, const std::string& reason) {
        Run* run = run_of(agent);
        if (!run) return;
        if (reason == scheduler::kNothingQueued && run->wait_for_tasks)
            return check_left(*run, agent, reason);
        run->end(reason, std::nullopt);
    };
    scheduler_.on_stuck = [this](const domain::AgentId& agent, const base::Error& error) {
        if (Run* run = run_of(agent)) return run->end("", error);
        base::log_error("agent {} is stuck for now: {}", agent, error.message);
    };
    scheduler_.on_text = [this](const domain::AgentId& agent, std::string_view text) {
        if (Run* run = run_of(agent)) run->observer->on_text(text);
    };
    parts_.tasks.set_listener(
        {.on_result = [this](const domain::AgentId& agent) { scheduler_.wake(agent); },
         .on_stuck = scheduler_.on_stuck});
}

LocalService::Run* LocalService::run_of(const domain::AgentId& agent) const {
    const auto found = runs_.find(agent);
    return found == runs_.end() ? nullptr : found->second;
}

void LocalService::check_left(const Run& run, const domain::AgentId& agent,
                              const std::string& reason) {
    transactions_.load<Left>(
        // Both in one read: a task that ends between two reads would be seen in neither.
        [agent](store::Tx& tx) -> base::Result<Left> {
            if (TRY(tx.pending_count(agent)) > 0) return Left::Result;
            if (!std::ranges::all_of(TRY(tx.active_tasks(agent)), tasks::is_put_off))
                return Left::Task;
            return Left::Nothing;
        },
        run.lifetime.guard([this, agent, reason](const base::Result<Left>& left) {
            rested(agent, left.value_or(Left::Nothing), reason);
        }));
}

void LocalService::rested(const domain::AgentId& agent, Left left, const std::string& reason) {
    Run* run = run_of(agent);
    if (!run) return;  // It has ended meanwhile.
    switch (left) {
        case Left::Result:
            return scheduler_.wake(agent);
        case Left::Task:
            return;  // Its result wakes the agent.
        case Left::Nothing:
            return run->end(reason, std::nullopt);
    }
}

void LocalService::interrupt(const std::string& reason) {
    if (interrupt_) interrupt_(reason);
}

// Which agent is to run. Writes nothing, so that a request that cannot be met leaves no trace.
base::Result<domain::AgentId> LocalService::name_agent(const RunRequest& request) {
    auto& turn = parts_.turn;
    domain::AgentId id{request.agent ? *request.agent : "tmp_run_" + turn.ids.hex32()};
    if (!domain::is_agent_id(id.value))
        return fail(
            ErrorCode::InvalidInput,
            "'{}' is not an agent id: use letters, digits, '.', '-' and '_', at most 64 of them",
            id);
    if (request.agent && request.create_agent && is_temporary(id))
        return fail(ErrorCode::InvalidInput, "agent ids that start with '{}' are reserved",
                    kTemporaryPrefix);
    if (!may_create(request))
        TRY(turn.store.read([&](store::Tx& tx) -> base::Status {
            if (!TRY(tx.agent(id))) return no_such_agent(id);
            return {};
        }));
    return id;
}

// The model that it would ask now. A new agent asks the default.
base::Result<std::string> LocalService::model_of(const domain::AgentId& agent) {
    std::string model = parts_.models.runtime_default_model;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        if (const auto known = TRY(tx.agent(agent)))
            model = identity::effective_model(*known, parts_.models);
        return {};
    }));
    return model;
}

// Where it is to work; nothing when the agent stays where it is. A new one is nowhere yet.
base::Result<std::optional<domain::WorkspaceEntry>> LocalService::choose_workspace(
    const RunRequest& request, const domain::AgentId& agent) {
    bool is_known = false;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        is_known = TRY(tx.agent(agent)).has_value();
        return {};
    }));
    if (is_known && !request.workspace_root && !request.cwd) return std::nullopt;
    const std::filesystem::path root =
        request.workspace_root.value_or(parts_.workspace_dir.string());
    if (!request.cwd)
        if (auto here = workspace::enter(root, parts_.started_in)) return *here;
    return TRY(workspace::enter(root, request.cwd.value_or("")));
}

// Makes the agent if need be and puts it where it is to work. Only under its lock: another process
// may be running it.
base::Status LocalService::prepare_agent(const RunRequest& request, const domain::AgentId& id,
                                         const std::optional<domain::WorkspaceEntry>& entry) {
    return transactions_.write([&](events::Log& log) -> base::Status {
        auto agent = TRY(log.tx().agent(id));
        if (!agent && !may_create(request)) return no_such_agent(id);
        if (agent && !entry) return {};
        if (!agent) agent = TRY(control_.make_agent(log, id, !request.agent, "local_process"));
        agent->execution = parts_.turn.execution_of(id);
        if (entry) {
            TRY(log.tx().put_workspace(*entry));
            for (auto& note : workspace::move_to(*agent, *entry))
                TRY(log.append(id, std::move(note)));
        }
        return log.tx().put_agent(*agent);
    });
}

base::Result<domain::Message> LocalService::receive(const RunRequest& request,
                                                    const domain::AgentId& agent) {
    auto& turn = parts_.turn;
    ingress::Raw raw{.agent_id = agent,
                     .kind = domain::MessageKind::OperatorPrompt,
                     .origin = domain::OperatorOrigin{"holon_run"},
                     .body = domain::TextBody{request.text},
                     .surface = domain::DeliverySurface::RunOnce,
                     .admission = domain::AdmissionContext::LocalProcess,
                     .trust = request.trust};
    return ingress::receive(std::move(raw), turn.clock.now(), turn.ids);
}

// Follows the agent on the loop until it rests. A program that serves runs the loop elsewhere; any
// other one runs it here.
void LocalService::execute(Run& run, const domain::AgentId& agent, const RunRequest& request,
                           Observer& observer) {
    std::mutex mutex;
    std::condition_variable over;
    bool is_over = false;
    std::shared_ptr<void> subscription;
    auto ticking = std::make_shared<std::function<void()>>();
    *ticking = [this, &observer, weak = std::weak_ptr(ticking)] {
        observer.on_tick();
        parts_.turn.loop.after(observer.tick_interval(), [weak] {
            if (const auto again = weak.lock()) (*again)();
        });
    };
    run.on_end = [&] {
        runs_.erase(agent);
        subscription.reset();
        interrupt_ = nullptr;
        ticking.reset();
        scheduler_.limit_rounds(agent, std::nullopt);
        scheduler_.release(agent);
        if (!is_resident_) return parts_.stop_loop();
        const std::lock_guard lock(mutex);
        is_over = true;
        over.notify_one();
    };
    parts_.turn.loop.post([&] {
        runs_[agent] = &run;
        subscription = parts_.turn.feed.subscribe([&](const events::Committed& committed) {
            if (committed.agent_id != agent) return;
            run.collector.add(committed.event);
            observer.on_event(committed.event);
        });
        interrupt_ = [this, agent, &run](const std::string& reason) {
            run.interrupted = true;
            scheduler_.interrupt(agent, reason);
        };
        scheduler_.limit_rounds(agent, request.max_turns);
        if (observer.tick_interval().count() > 0) (*ticking)();
        if (!is_resident_) parts_.tasks.recover({agent});
        scheduler_.wake(agent);
    });
    if (!is_resident_) return parts_.run_loop();
    std::unique_lock lock(mutex);
    over.wait(lock, [&] { return is_over; });
}

base::Result<RunResponse> LocalService::run(const RunRequest& request, Observer& observer) {
    auto& turn = parts_.turn;
    if (request.resume && !request.agent)
        return fail(ErrorCode::InvalidInput,
                    "--resume needs --agent: name the agent whose turn is to be resumed");
    const domain::AgentId agent = TRY(name_agent(request));
    const std::string model = TRY(model_of(agent));
    TRY(parts_.check_run(model));
    const auto entry = TRY(choose_workspace(request, agent));
    std::optional<domain::Message> message;
    if (!request.text.empty()) message = TRY(receive(request, agent));
    const auto lock = TRY(locks_.take(turn.home_of(agent), agent.value));
    TRY(prepare_agent(request, agent, entry));

    Run run{.observer = &observer, .wait_for_tasks = request.wait_for_tasks};
    observer.on_started(agent.value, model);
    if (message) {
        TRY(deliveries_.deliver(*message, std::nullopt));
    }
    execute(run, agent, request, observer);
    if (run.stuck) return std::unexpected(*run.stuck);
    // Nobody will come back for them, and their folder may go.
    if (is_temporary(agent)) stop_tasks(agent);
    auto response = TRY(conclude(run, agent));
    if (request.resume && response.message_count == 0 && response.model_rounds == 0 &&
        response.tool_calls == 0)
        return fail(ErrorCode::Conflict, "agent {} has nothing to resume: its last turn is done",
                    agent);
    if (is_temporary(agent) && response.final_status == FinalStatus::Completed)
        TRY(remove_agent(agent));
    return response;
}

base::Result<RunResponse> LocalService::conclude(const Run& run, const domain::AgentId& agent) {
    RunResponse response{.agent_id = agent.value};
    run.collector.fill(response);
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        const auto facts = TRY(identity::load_facts(tx, agent));
        const auto closure = identity::decide_closure(facts);
        const auto& terminal = facts.statistics.last_turn_terminal;
        response.final_status = final_status(closure, terminal, run.rest_reason);
        if (response.final_status == FinalStatus::Waiting)
            response.waiting_reason = closure.waiting_reason;
        // Left while it waited for a task: nothing is broken, and nothing is done.
        if (run.interrupted && response.final_status == FinalStatus::Completed &&
            !facts.active_tasks.empty()) {
            response.final_status = FinalStatus::Waiting;
            response.waiting_reason = domain::WaitingReason::AwaitingTaskResult;
        }
        if (facts.agent.sleep) response.sleep_reason = facts.agent.sleep->reason;
        if (terminal && terminal->last_assistant_message)
            response.raw_final_text = terminal->last_assistant_message;
        response.final_text = response.raw_final_text.value_or("");
        const bool failed = response.final_status == FinalStatus::Failed ||
                            response.final_status == FinalStatus::MaxTurnsExceeded;
        if (failed && facts.statistics.last_runtime_failure)
            response.failure_artifact = facts.statistics.last_runtime_failure->failure_artifact;
        // Rounds can run out between two turns, where none of them has failed.
        if (failed && !response.failure_artifact)
            response.failure_artifact = domain::FailureArtifact{
                .category = domain::FailureCategory::Runtime,
                .kind = std::string(base::enum_name(response.final_status)),
                .summary = "the run ended before the agent was done: " + run.rest_reason};
        response.changed_files = TRY(changed_files(tx, run.collector.patch_calls()));
        for (const auto& id : run.collector.tasks())
            if (const auto task = TRY(tx.task(domain::TaskId{id})))
                response.tasks.emplace_back(json::object{{"task", tasks::output_snapshot(*task)}});
        return {};
    }));
    return response;
}

void LocalService::stop_tasks(const domain::AgentId& agent) {
    std::vector<domain::Task> active;
    const auto status = transactions_.read([&](store::Tx& tx) -> base::Status {
        active = TRY(tx.active_tasks(agent));
        return {};
    });
    if (!status || active.empty()) return;
    control_.order_stops(agent);
    if (is_resident_) return;
    // What comes back must not start another turn.
    scheduler_.interrupt(agent, std::string(kTasksStopped));
    std::size_t open = active.size();
    std::vector<std::shared_ptr<void>> ends;
    for (const auto& task : active)
        ends.push_back(parts_.tasks.await_end(task.id, [this, &open] {
            if (--open == 0) parts_.stop_loop();
        }));
    auto& loop = parts_.turn.loop;
    const auto force = loop.after(kTasksSettleMax, [this, agent] { control_.order_stops(agent); });
    const auto give_up = loop.after(2 * kTasksSettleMax, [this] { parts_.stop_loop(); });
    parts_.run_loop();
    loop.cancel(force);
    loop.cancel(give_up);
    scheduler_.release(agent);
}

base::Status LocalService::remove_agent(const domain::AgentId& agent) {
    TRY(parts_.turn.store.write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        return tx.erase_agent(agent);
    }));
    std::error_code failed;
    std::filesystem::remove_all(parts_.turn.home_of(agent), failed);
    if (failed)
        return fail(ErrorCode::Io, "could not remove the temporary agent's folder: {}",
                    failed.message());
    return {};
}

}  // namespace service
