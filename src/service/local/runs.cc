#include "service/local/runs.h"

#include <algorithm>

#include "agent/children/decide.h"
#include "agent/workspace/moves.h"
#include "agent/workspace/workspace.h"
#include "base/text.h"
#include "domain/events/control.h"
#include "domain/events/turn.h"
#include "exec/tasks/plan_task.h"
#include "flow/ingress/ingress.h"
#include "flow/scheduler/decide.h"
#include "service/local/agents/deliveries.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

// How long tasks of an agent that is about to go may take to end, softly and then by force.
constexpr std::chrono::milliseconds kTasksSettleMax{2000};
constexpr std::string_view kTasksStopped = "its tasks are being stopped";
constexpr std::string_view kClientLeft = "client_disconnected";
constexpr std::string_view kRunOver = "the run is over";
constexpr std::string_view kAnswered = "the prompt is answered";
constexpr std::string_view kTemporaryPrefix = "tmp_";
constexpr std::string_view kRunPrefix = "tmp_run_";
constexpr std::int64_t kPendingChecked = 512;
constexpr std::size_t kRunTextChars = 120;

bool is_temporary(const domain::AgentId& agent) {
    return agent.value.starts_with(kTemporaryPrefix);
}

bool may_create(const RunRequest& request) {
    return !request.agent || request.create_agent;
}

std::unexpected<base::Error> no_such_agent(const domain::AgentId& id) {
    return fail(ErrorCode::NotFound, "there is no agent '{}'; add --create-agent to make it", id);
}

bool is_pending(domain::QueueStatus status) {
    return status == domain::QueueStatus::Queued || status == domain::QueueStatus::Interrupted;
}

bool is_handled(domain::QueueStatus status) {
    return !is_pending(status) && status != domain::QueueStatus::Claimed;
}

// Was the client started outside of the project, without saying where the agent is to work?
bool is_elsewhere(const RunRequest& request, const domain::WorkspaceEntry& works_in) {
    if (!request.client_cwd || request.workspace_root || request.cwd) return false;
    std::error_code unresolved;
    const auto here = std::filesystem::weakly_canonical(*request.client_cwd, unresolved);
    for (const auto& root : {works_in.execution_root, works_in.workspace_anchor}) {
        const auto canonical = std::filesystem::weakly_canonical(root, unresolved);
        if (std::ranges::mismatch(canonical, here).in1 == canonical.end()) return false;
    }
    return true;
}

// Will the task end by itself? A run does not wait for an operator's decision, nor for a child that
// waits for a timer, an event or an answer: this process brings none of them about.
base::Result<bool> is_under_way(store::Tx& tx, const domain::Task& task) {
    if (tasks::is_put_off(task)) return false;
    const auto supervised = tasks::supervised_by(task);
    if (!supervised || !supervised->child_agent_id) return true;
    if (!TRY(tx.agent(*supervised->child_agent_id))) return true;
    auto child = TRY(identity::load_facts(tx, *supervised->child_agent_id));
    for (const auto& own : child.active_tasks)
        if (TRY(is_under_way(tx, own))) return true;
    const bool has_tasks = !child.active_tasks.empty();
    child.active_tasks.clear();
    return has_tasks ? child.open_attempt || child.pending > 0 : !children::is_resting(child);
}

}  // namespace

struct LocalRuns::Run {
    const std::string id;
    const domain::AgentId agent;
    const RunRequest request;
    const bool is_resident;
    RunEnded ended;
    // Set before begin() and constant from then on.
    RunBaseline baseline{};
    std::optional<domain::MessageId> message{};
    std::shared_ptr<void> lock{};

    // Used on the loop only.
    bool has_begun{false};
    bool is_ending{false};
    std::vector<std::shared_ptr<void>> task_ends{};
    std::size_t open_tasks{0};
    base::Loop::TimerHandle force{base::Loop::TimerHandle::None};
    base::Loop::TimerHandle give_up{base::Loop::TimerHandle::None};

    // Guarded by the mutex of LocalRuns.
    bool is_interrupted{false};
    bool is_over{false};
    bool is_released{false};  // Its client has dropped the lease.
    std::string end_reason{};

    RunFacts facts() const {
        return {.agent_id = agent,
                .baseline = baseline,
                .message_id = message,
                .end_reason = end_reason,
                .is_interrupted = is_interrupted};
    }
};

struct LocalRuns::Lease {
    Lease(LocalRuns& all, RunPtr held) : runs(all), run(std::move(held)) {}
    ~Lease() { runs.released(run); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    LocalRuns& runs;
    RunPtr run;
};

LocalRuns::LocalRuns(Parts parts)
    : parts_(parts),
      subscription_(parts_.turn.feed.subscribe([this](const events::Committed& committed) {
          if (!domain::events::is<domain::events::TurnTerminal>(committed.event)) return;
          if (const auto run = of_agent(committed.agent_id)) turn_closed(run);
      })) {}

LocalRuns::~LocalRuns() = default;

// Starting ------------------------------------------------------------------------------------

// Which agent is to run. Writes nothing, so that a request that cannot be met leaves no trace.
base::Result<domain::AgentId> LocalRuns::name_agent(const RunRequest& request) const {
    domain::AgentId id{request.agent ? *request.agent
                                     : std::string(kRunPrefix) + parts_.turn.ids.hex32()};
    if (!domain::is_agent_id(id.value))
        return fail(
            ErrorCode::InvalidInput,
            "'{}' is not an agent id: use letters, digits, '.', '-' and '_', at most 64 of them",
            id);
    if (request.agent && request.create_agent && is_temporary(id))
        return fail(ErrorCode::InvalidInput, "agent ids that start with '{}' are reserved",
                    kTemporaryPrefix);
    if (!may_create(request))
        TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
            if (!TRY(tx.agent(id))) return no_such_agent(id);
            return {};
        }));
    return id;
}

// The model that it would ask now. A new agent asks the default, unless the request names one.
base::Result<std::string> LocalRuns::model_of(const RunRequest& request,
                                              const domain::AgentId& agent) const {
    if (request.model) return parts_.control.name_model(*request.model);
    std::string model = parts_.models.runtime_default_model;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        if (const auto known = TRY(tx.agent(agent)))
            model = identity::effective_model(*known, parts_.models);
        return {};
    }));
    return model;
}

// Where it is to work; nothing when the agent stays where it is. A new one is nowhere yet.
base::Result<std::optional<domain::WorkspaceEntry>> LocalRuns::choose_workspace(
    const RunRequest& request, const domain::AgentId& agent) const {
    bool is_known = false;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        is_known = TRY(tx.agent(agent)).has_value();
        return {};
    }));
    if (is_known && !request.workspace_root && !request.cwd) return std::nullopt;
    const std::filesystem::path root = request.workspace_root.value_or(
        request.client_workspace.value_or(parts_.workspace_dir.string()));
    if (!request.cwd && request.client_cwd)
        if (auto here = workspace::enter(root, *request.client_cwd)) return *here;
    return TRY(workspace::enter(root, request.cwd.value_or("")));
}

base::Result<domain::Message> LocalRuns::receive(const RunRequest& request, const Caller& caller,
                                                 const domain::AgentId& agent) const {
    ingress::Raw raw{.agent_id = agent,
                     .kind = domain::MessageKind::OperatorPrompt,
                     .origin = domain::OperatorOrigin{"holon_run"},
                     .body = domain::TextBody{request.text},
                     .surface = domain::DeliverySurface::RunOnce,
                     .admission = caller.admission,
                     .trust = request.trust};
    return ingress::receive(std::move(raw), parts_.turn.clock.now(), parts_.turn.ids);
}

// The home of a named agent that is to be made. A temporary one has a bare folder, and one that
// exists has its home.
base::Result<homes::Creation> LocalRuns::make_home(const RunRequest& request,
                                                   const domain::AgentId& agent) const {
    if (!request.agent) return homes::Creation();
    bool is_known = false;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        is_known = TRY(tx.agent(agent)).has_value();
        return {};
    }));
    if (!is_known) return parts_.control.make_home(agent, request.template_);
    if (request.template_)
        return fail(ErrorCode::Conflict,
                    "agent {} exists already, and a template is applied to a new agent only",
                    agent);
    TRY(parts_.control.complete_default(agent));
    return homes::Creation();
}

// Makes the agent if need be and puts it where it is to work. Only under its lock: another process
// may be running it.
base::Status LocalRuns::prepare_agent(events::Log& log, const RunRequest& request,
                                      const domain::AgentId& id, const std::string& model,
                                      const std::optional<domain::WorkspaceEntry>& entry) {
    auto agent = TRY(log.tx().agent(id));
    if (!agent && !may_create(request)) return no_such_agent(id);
    const bool changes_model = request.model && (!agent || agent->model_override != model);
    if (agent && !entry && !changes_model) return {};
    if (!agent) agent = TRY(parts_.control.make_agent(log, id, !request.agent, "local_process"));
    if (changes_model) {
        agent->model_override = model;
        TRY(log.append(id,
                       domain::events::AgentModelOverrideSet{{.agent_id = id, .model = model}}));
    }
    agent->execution = parts_.turn.execution_of(id);
    if (entry) {
        TRY(log.tx().put_workspace(*entry));
        for (auto& note : workspace::move_to(*agent, *entry)) TRY(log.append(id, std::move(note)));
    }
    return log.tx().put_agent(*agent);
}

base::Result<RunHold> LocalRuns::start(const RunRequest& request, const Caller& caller,
                                       bool is_resident, RunEnded ended) {
    if (request.resume && !request.agent)
        return fail(ErrorCode::InvalidInput,
                    "--resume needs --agent: name the agent whose turn is to be resumed");
    if (request.text.empty() && !request.resume)
        return fail(ErrorCode::InvalidInput, "the prompt is empty; say what is to be done");
    const domain::AgentId agent = TRY(name_agent(request));
    const std::string model = TRY(model_of(request, agent));
    TRY(parts_.check_run(model));
    const auto entry = TRY(choose_workspace(request, agent));
    std::optional<domain::Message> message;
    if (!request.text.empty()) message = TRY(receive(request, caller, agent));
    const auto run = std::make_shared<Run>(Run{.id = parts_.turn.ids.uuid(),
                                               .agent = agent,
                                               .request = request,
                                               .is_resident = is_resident,
                                               .ended = std::move(ended)});
    TRY(reserve(run));
    std::optional<domain::WorkspaceEntry> works_in;
    const auto admitted = [&]() -> base::Status {
        auto home = TRY(make_home(request, agent));
        run->lock = TRY(parts_.locks.take(parts_.turn.home_of(agent), agent.value));
        TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
            TRY(prepare_agent(log, request, agent, model, entry));
            if (const auto known = TRY(log.tx().agent(agent)))
                works_in = known->active_workspace_entry;
            if (message) TRY(LocalDeliveries::admit(log, *message, std::nullopt));
            run->baseline = TRY(load_baseline(log.tx(), agent));
            return {};
        }));
        home.keep();
        return {};
    }();
    if (!admitted) {
        forget(run);
        return std::unexpected(admitted.error());
    }
    if (message) run->message = message->id;
    parts_.transactions.post([this, run] { begin(run); });
    RunHold hold{.started = {.run_id = run->id,
                             .agent_id = agent.value,
                             .model_ref = model,
                             .event_seq = run->baseline.event_seq}};
    if (message) hold.started.message_id = message->id.value;
    if (works_in) {
        hold.started.cwd = works_in->cwd;
        hold.started.is_elsewhere = is_elsewhere(request, *works_in);
    }
    hold.lease = std::make_shared<Lease>(*this, run);
    return hold;
}

base::Status LocalRuns::reserve(const RunPtr& run) {
    const std::lock_guard lock(mutex_);
    if (!by_agent_.emplace(run->agent, run).second)
        return fail(ErrorCode::Conflict,
                    "agent {0} is in another run; wait until that is over, or send the message "
                    "with: holon prompt --agent {0} \"...\"",
                    run->agent);
    by_id_.emplace(run->id, run);
    return {};
}

void LocalRuns::forget(const RunPtr& run) {
    const std::lock_guard lock(mutex_);
    by_id_.erase(run->id);
    if (const auto found = by_agent_.find(run->agent);
        found != by_agent_.end() && found->second == run)
        by_agent_.erase(found);
}

LocalRuns::RunPtr LocalRuns::of_agent(const domain::AgentId& agent) {
    const std::lock_guard lock(mutex_);
    const auto found = by_agent_.find(agent);
    return found == by_agent_.end() ? nullptr : found->second;
}

base::Result<LocalRuns::RunPtr> LocalRuns::of_id(const std::string& run_id) {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(run_id);
    if (found == by_id_.end())
        return fail(ErrorCode::NotFound, "there is no run '{}' under way", run_id);
    return found->second;
}

void LocalRuns::begin(const RunPtr& run) {
    run->has_begun = true;
    parts_.scheduler.release(run->agent);
    parts_.scheduler.limit_rounds(run->agent, run->request.max_turns);
    if (!run->is_resident) parts_.tasks.recover({run->agent});
    parts_.scheduler.wake(run->agent);
}

// While the agent works -------------------------------------------------------------------------

void LocalRuns::load_left(const RunPtr& run, std::function<void(const Left&)> then) {
    parts_.transactions.load<Left>(
        // All in one read: a task that ends between two reads would be seen in neither.
        [agent = run->agent, own = run->message](store::Tx& tx) -> base::Result<Left> {
            Left left{.is_answered = true};
            if (own)
                if (const auto message = TRY(tx.message(*own)))
                    left.is_answered = is_handled(message->entry.status);
            const auto pending = TRY(tx.pending_count(agent));
            if (pending > 0) {
                const auto newest =
                    TRY(tx.messages(agent, {.limit = kPendingChecked, .newest_first = true}));
                std::int64_t others = 0;
                for (const auto& [seq, queued] : newest)
                    if (is_pending(queued.entry.status) && !is_of_run(queued.message, own))
                        ++others;
                left.has_others = others > 0;
                left.has_own = others < pending;
            }
            left.is_running = TRY(tx.open_attempt_of(agent)).has_value();
            for (const auto& task : TRY(tx.active_tasks(agent)))
                left.has_tasks = left.has_tasks || TRY(is_under_way(tx, task));
            return left;
        },
        lifetime_.guard([this, run, then = std::move(then)](const base::Result<Left>& left) {
            if (left) return then(*left);
            // What is left is not known, so that the run cannot be called complete.
            end(run, "", std::unexpected(left.error()));
        }));
}

void LocalRuns::idle(const domain::AgentId& agent, const std::string& reason) {
    const auto run = of_agent(agent);
    if (!run || !run->has_begun || run->is_ending) return;
    if (reason != scheduler::kNothingQueued || !run->request.wait_for_tasks)
        return end(run, reason, {});
    load_left(run, [this, run, reason](const Left& left) {
        if (left.is_running) return;  // It is asked again when the turn has closed.
        // A result may have come since the scheduler checked the queue.
        if (left.has_own || left.has_others) return parts_.scheduler.wake(run->agent);
        if (left.has_tasks) return;  // Its result wakes the agent.
        end(run, reason, {});
    });
}

void LocalRuns::child_idle(const domain::AgentId& child) {
    using Above = std::vector<domain::AgentId>;
    parts_.transactions.load<Above>(
        [child](store::Tx& tx) -> base::Result<Above> {
            Above above;
            const auto agent = TRY(tx.agent(child));
            if (!agent) return above;
            for (const auto& one :
                 TRY(identity::load_spenders(tx, *agent, TRY(tx.statistics(child)))))
                if (one.agent_id != child) above.push_back(one.agent_id);
            return above;
        },
        lifetime_.guard([this](const base::Result<Above>& above) {
            if (!above) return;
            for (const auto& agent : *above) {
                const auto run = of_agent(agent);
                if (run && run->request.wait_for_tasks)
                    idle(agent, std::string(scheduler::kNothingQueued));
            }
        }));
}

// An agent that others keep busy never sleeps, so a run of the daemon ends with its own work.
void LocalRuns::turn_closed(const RunPtr& run) {
    if (!run->has_begun || run->is_ending || !run->is_resident || !run->message) return;
    load_left(run, [this, run](const Left& left) {
        const bool waits = left.has_own || (run->request.wait_for_tasks && left.has_tasks);
        if (left.has_others && left.is_answered && !waits) end(run, std::string(kAnswered), {});
    });
}

bool LocalRuns::stuck(const domain::AgentId& agent, const base::Error& error) {
    const auto run = of_agent(agent);
    if (!run || !run->has_begun) return false;
    end(run, "", std::unexpected(error));
    return true;
}

// Ending ------------------------------------------------------------------------------------------

base::Status LocalRuns::interrupt(const std::string& run_id, const std::string& reason) {
    const auto run = TRY(of_id(run_id));
    parts_.transactions.post([this, run, reason] { stop(run, reason); });
    return {};
}

// A turn of another message is not the run's to stop.
void LocalRuns::stop(const RunPtr& run, const std::string& reason) {
    if (run->is_ending) return;
    {
        const std::lock_guard lock(mutex_);
        run->is_interrupted = true;
    }
    parts_.transactions.load<bool>(
        [agent = run->agent, own = run->message](store::Tx& tx) -> base::Result<bool> {
            const auto open = TRY(tx.open_attempt_of(agent));
            if (!open) return true;
            const auto handled = TRY(tx.message(open->message_id));
            return !handled || is_of_run(handled->message, own);
        },
        lifetime_.guard([this, run, reason](const base::Result<bool>& is_own) {
            if (run->is_ending) return;
            if (is_own.value_or(true)) return parts_.scheduler.interrupt(run->agent, reason);
            end(run, reason, {});
        }));
}

void LocalRuns::end(const RunPtr& run, const std::string& reason, const base::Status& status) {
    if (std::exchange(run->is_ending, true)) return;
    {
        const std::lock_guard lock(mutex_);
        run->end_reason = reason;
    }
    parts_.scheduler.limit_rounds(run->agent, std::nullopt);
    release_agent(run);
    // Nobody will come back for the tasks of a temporary agent, and their folder may go.
    if (is_temporary(run->agent) && status) return stop_tasks(run, status);
    over(run, status);
}

// A daemon's agent serves others from now on. That of a process which ends with the run starts no
// turn that would be cut off: what comes now waits for the next process.
void LocalRuns::release_agent(const RunPtr& run) {
    if (run->is_resident)
        parts_.scheduler.release(run->agent);
    else
        parts_.scheduler.interrupt(run->agent, std::string(kRunOver));
}

void LocalRuns::stop_tasks(const RunPtr& run, const base::Status& status) {
    using Tasks = std::vector<domain::Task>;
    const auto ended = [this, run, status] {
        parts_.turn.loop.cancel(run->force);
        parts_.turn.loop.cancel(run->give_up);
        run->task_ends.clear();
        release_agent(run);
        over(run, status);
    };
    parts_.transactions.load<Tasks>(
        [agent = run->agent](store::Tx& tx) { return tx.active_tasks(agent); },
        lifetime_.guard([this, run, ended](const base::Result<Tasks>& active) {
            if (!active || active->empty()) return ended();
            // What comes back must not start another turn.
            parts_.scheduler.interrupt(run->agent, std::string(kTasksStopped));
            parts_.control.order_stops(run->agent);
            auto& loop = parts_.turn.loop;
            run->force = loop.after(kTasksSettleMax, lifetime_.guard([this, run] {
                parts_.control.order_stops(run->agent);
            }));
            // Those that do not end in time are left to their supervisors.
            run->give_up = loop.after(2 * kTasksSettleMax, lifetime_.guard([ended] { ended(); }));
            run->open_tasks = active->size();
            for (const auto& task : *active)
                run->task_ends.push_back(
                    parts_.tasks.await_end(task.id, lifetime_.guard([this, run, ended] {
                        // Posted: this is called from within one of the tokens that it clears.
                        if (--run->open_tasks == 0) parts_.transactions.post(ended);
                    })));
        }));
}

void LocalRuns::over(const RunPtr& run, const base::Status& status) {
    bool is_released = false;
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(run->is_over, true)) return;
        by_agent_.erase(run->agent);
        is_released = run->is_released;
        if (is_released) by_id_.erase(run->id);
        run->lock.reset();
    }
    if (!is_released) run->ended(status);
}

// Any thread: the client is done with the run, or gone.
void LocalRuns::released(const RunPtr& run) {
    {
        const std::lock_guard lock(mutex_);
        run->is_released = true;
        if (run->is_over) {
            by_id_.erase(run->id);
            return;
        }
    }
    parts_.transactions.post([this, run] { stop(run, std::string(kClientLeft)); });
}

base::Result<RunResponse> LocalRuns::result(const std::string& run_id) {
    const auto run = TRY(of_id(run_id));
    RunFacts facts;
    {
        const std::lock_guard lock(mutex_);
        if (!run->is_over) return fail(ErrorCode::Conflict, "run {} is not over yet", run_id);
        facts = run->facts();
    }
    RunResponse response;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        response = TRY(make_result(
            tx, facts, [&registry = parts_.turn.dispatcher.registry()](const std::string& name) {
                const auto* tool = registry.find(name);
                return tool ? &tool->spec() : nullptr;
            }));
        return {};
    }));
    if (run->request.resume && response.message_count == 0 && response.model_rounds == 0 &&
        response.tool_calls == 0)
        return fail(ErrorCode::Conflict, "agent {} has nothing to resume: its last turn is done",
                    run->agent);
    return response;
}

base::Status LocalRuns::finish(const std::string& run_id) {
    TRY(of_id(run_id));
    return {};
}

base::Result<std::vector<RecentRun>> LocalRuns::recent(std::int64_t limit) const {
    std::vector<RecentRun> all;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        all.clear();
        // Their agents are neighbours in the order of ids.
        for (domain::AgentId after{std::string(kRunPrefix)};;) {
            const auto page = TRY(tx.agents(after, kAgentsPageMax));
            for (const auto& id : page) {
                if (!id.value.starts_with(kRunPrefix)) return {};
                if (const auto agent = tx.agent(id); agent && *agent)
                    all.push_back({.agent_id = id.value,
                                   .started_at = (*agent)->identity.created_at,
                                   .turns = (*agent)->turn_index});
            }
            if (std::ssize(page) < kAgentsPageMax) return {};
            after = page.back();
        }
    }));
    std::ranges::sort(all, std::ranges::greater{}, &RecentRun::started_at);
    all.resize(std::min(
        all.size(), static_cast<std::size_t>(std::clamp<std::int64_t>(limit, 0, kRecentRunsMax))));
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        for (auto& run : all) TRY(describe(tx, run));
        return {};
    }));
    return all;
}

// What is read for the runs that are shown only.
base::Status LocalRuns::describe(store::Tx& tx, RecentRun& run) {
    const domain::AgentId id{run.agent_id};
    if (const auto agent = TRY(tx.agent(id)); agent && agent->active_workspace_entry)
        run.cwd = agent->active_workspace_entry->cwd;
    const auto first = TRY(tx.messages(id, {.limit = 1, .newest_first = false}));
    if (!first.empty())
        run.text = base::ellipsize(
            base::collapse_whitespace(domain::readable(first.front().record.message.body)),
            kRunTextChars);
    run.is_open = TRY(tx.open_attempt_of(id)).has_value() || TRY(tx.pending_count(id)) > 0;
    return {};
}

base::Status LocalRuns::remove(const std::string& agent, const Caller& caller) {
    TRY(check_operator(caller));
    const domain::AgentId id{agent};
    const auto check = [&](store::Tx& tx) -> base::Status {
        if (!TRY(tx.agent(id))) return fail(ErrorCode::NotFound, "there is no agent '{}'", id);
        if (TRY(tx.open_attempt_of(id)))
            return fail(ErrorCode::Conflict,
                        "agent {0} is in a turn; end it first with: holon agent abort {0}", id);
        if (!TRY(tx.active_tasks(id)).empty())
            return fail(
                ErrorCode::Conflict,
                "agent {0} has background tasks; stop them first with: holon agent stop {0}", id);
        return {};
    };
    TRY(parts_.transactions.read(check));
    const auto lock = TRY(parts_.locks.take(parts_.turn.home_of(id), id.value));
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(check(log.tx()));
        return log.tx().erase_agent(id);
    }));
    parts_.transactions.post([this] { parts_.scheduler.timers_changed(); });
    std::error_code failed;
    std::filesystem::remove_all(parts_.turn.home_of(id), failed);
    if (failed)
        return fail(ErrorCode::Io, "agent {} is removed, but its folder could not be: {}", id,
                    failed.message());
    return {};
}

}  // namespace service
