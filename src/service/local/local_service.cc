#include "service/local/local_service.h"

#include <algorithm>
#include <set>

#include "agent/identity/closure.h"
#include "agent/workspace/workspace.h"
#include "exec/tasks/snapshot.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"
#include "flow/scheduler/scheduler.h"
#include "service/local/agent_lock.h"
#include "service/local/collector.h"
#include "service/local/run_tasks.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::string_view kTemporaryPrefix = "tmp_";
constexpr std::int64_t kAgentsListMax = 1000;

base::Result<domain::Agent> create_agent(events::Log& log, const domain::AgentId& id,
                                         bool temporary, const std::filesystem::path& home) {
    domain::Agent agent{.agent_id = id};
    agent.identity = {.agent_id = id, .created_at = log.now(), .updated_at = log.now()};
    if (temporary) {
        agent.identity.kind = domain::AgentKind::Child;
        agent.identity.visibility = domain::Visibility::Private;
        agent.identity.profile_preset = domain::ProfilePreset::PrivateChild;
    }
    agent.active_workspace_entry = workspace::agent_home(id, home);
    TRY(log.append(id, "agent_created",
                   {{"target_agent_id", id.value},
                    {"admission_context", "local_process"},
                    {"boundary", workspace::boundary(*agent.active_workspace_entry)}}));
    return agent;
}

base::Status enter_workspace(events::Log& log, domain::Agent& agent,
                             const domain::WorkspaceEntry& entry) {
    if (agent.active_workspace_entry == entry) return {};
    agent.active_workspace_entry = entry;
    auto& attached = agent.attached_workspaces;
    if (std::ranges::find(attached, entry.workspace_id) == attached.end())
        attached.push_back(entry.workspace_id);
    json::object data = base::to_json(entry).as_object();
    data["boundary"] = workspace::boundary(entry);
    return log.append(agent.agent_id, "workspace_entered", std::move(data));
}

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

// Forgets the way to interrupt a run when the run is over, however it ends.
class Reset {
public:
    explicit Reset(std::function<void(const std::string&)>& target) : target_(target) {}
    ~Reset() { target_ = nullptr; }

private:
    std::function<void(const std::string&)>& target_;
};

std::unexpected<base::Error> no_such_agent(const domain::AgentId& id) {
    return fail(ErrorCode::NotFound, "there is no agent '{}'; add --create-agent to make it", id);
}

}  // namespace

// What a run has seen so far.
struct LocalService::Run {
    Collector collector;
    std::optional<base::Error> stuck;
    std::string rest_reason;
    bool interrupted{false};
};

LocalService::LocalService(LocalParts parts) : parts_(std::move(parts)) {}

void LocalService::interrupt(const std::string& reason) {
    if (interrupt_) interrupt_(reason);
}

// Who is to run. Writes nothing, so that a request which cannot be carried out leaves no trace.
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
    auto& turn = parts_.turn;
    return turn.store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        events::Log log(tx, turn.clock.now(), turn.ids);
        auto agent = TRY(tx.agent(id));
        if (!agent && !may_create(request)) return no_such_agent(id);
        if (agent && !entry) return {};
        if (!agent) agent = TRY(create_agent(log, id, !request.agent, turn.home_of(id)));
        if (entry) TRY(enter_workspace(log, *agent, *entry));
        return tx.put_agent(*agent);
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

base::Status LocalService::deliver(const domain::Message& message) {
    auto& turn = parts_.turn;
    std::vector<events::Committed> committed;
    TRY(turn.store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        events::Log log(tx, turn.clock.now(), turn.ids);
        const auto outcome = TRY(admission::admit(log, message, std::nullopt));
        if (const auto* refused = std::get_if<admission::Refuse>(&outcome))
            return fail(ErrorCode::Refused, "{}; {}", refused->reason, refused->hint);
        committed = log.take();
        return {};
    }));
    turn.feed.publish(committed);
    return {};
}

base::Result<RunResponse> LocalService::run(const RunRequest& request, Observer& observer) {
    auto& turn = parts_.turn;
    if (request.resume && !request.agent)
        return fail(ErrorCode::InvalidInput,
                    "--resume needs --agent: name the agent whose run is to go on");
    const domain::AgentId agent = TRY(name_agent(request));
    const std::string model = TRY(model_of(agent));
    TRY(parts_.check_run(model));
    const auto entry = TRY(choose_workspace(request, agent));
    std::optional<domain::Message> message;
    if (!request.text.empty()) message = TRY(receive(request, agent));
    const base::Fd lock = TRY(lock_agent(turn.home_of(agent), agent.value));
    TRY(prepare_agent(request, agent, entry));

    Run run;
    scheduler::Scheduler scheduler(turn, {.model_ref = parts_.models.runtime_default_model,
                                          .rounds_total = request.max_turns});
    RunTasks tasks(parts_.tasks, turn.store, {turn.loop, parts_.run_loop, parts_.stop_loop}, agent);
    scheduler.on_rest = [&](const domain::AgentId&, const std::string& reason) {
        run.rest_reason = reason;
        if (reason == scheduler::kNothingQueued && request.wait_for_tasks) switch (tasks.left()) {
                case RunTasks::Left::Result:
                    return scheduler.wake(agent);
                case RunTasks::Left::Task:
                    return;  // Its result wakes the agent.
                case RunTasks::Left::Nothing:
                    break;
            }
        parts_.stop_loop();
    };
    scheduler.on_stuck = [&](const domain::AgentId&, const base::Error& error) {
        run.stuck = error;
        parts_.stop_loop();
    };
    scheduler.on_text = [&](const domain::AgentId&, std::string_view text) {
        observer.on_text(text);
    };
    const auto subscription = turn.feed.subscribe([&](const events::Committed& committed) {
        if (committed.agent_id != agent) return;
        run.collector.add(committed.event);
        observer.on_event(committed.event);
    });
    std::function<void()> tick = [&] {
        observer.on_tick();
        turn.loop.after(observer.tick_interval(), [&] { tick(); });
    };
    const Reset reset(interrupt_);
    interrupt_ = [&](const std::string& reason) {
        run.interrupted = true;
        scheduler.interrupt(agent, reason);
    };
    observer.on_started(agent.value, model);
    if (message) TRY(deliver(*message));
    turn.loop.post([&] {
        tasks.begin([&] { scheduler.wake(agent); },
                    [&](const base::Error& error) {
                        run.stuck = error;
                        parts_.stop_loop();
                    });
        scheduler.recover({agent});
        if (observer.tick_interval().count() > 0) tick();
    });
    parts_.run_loop();
    if (run.stuck) return std::unexpected(*run.stuck);
    // Nobody will come back for them, and their folder may go.
    if (is_temporary(agent)) tasks.stop_all();
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
        const auto& terminal = facts.agent.last_turn_terminal;
        response.final_status = final_status(closure, terminal, run.rest_reason);
        if (response.final_status == FinalStatus::Waiting)
            response.waiting_reason = closure.waiting_reason;
        // Left while it waited for a task: nothing is broken, and nothing is done.
        if (run.interrupted && response.final_status == FinalStatus::Completed &&
            !facts.active_tasks.empty()) {
            response.final_status = FinalStatus::Waiting;
            response.waiting_reason = domain::WaitingReason::AwaitingTaskResult;
        }
        if (facts.agent.rest) response.sleep_reason = facts.agent.rest->reason;
        if (terminal && terminal->last_assistant_message)
            response.raw_final_text = terminal->last_assistant_message;
        response.final_text = response.raw_final_text.value_or("");
        const bool failed = response.final_status == FinalStatus::Failed ||
                            response.final_status == FinalStatus::MaxTurnsExceeded;
        if (failed && facts.agent.last_runtime_failure)
            response.failure_artifact = facts.agent.last_runtime_failure->failure_artifact;
        response.changed_files = TRY(changed_files(tx, run.collector.patch_calls()));
        for (const auto& id : run.collector.tasks())
            if (const auto task = TRY(tx.task(domain::TaskId{id})))
                response.tasks.emplace_back(json::object{{"task", tasks::output_snapshot(*task)}});
        return {};
    }));
    return response;
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

base::Result<json::object> LocalService::status(const std::string& agent) {
    json::object summary;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        summary = identity::agent_summary(TRY(identity::load_facts(tx, domain::AgentId{agent})),
                                          parts_.models);
        return {};
    }));
    return summary;
}

base::Result<json::object> LocalService::model(const std::string& agent) {
    json::object state;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        const auto facts = TRY(identity::load_facts(tx, domain::AgentId{agent}));
        state = identity::model_state(facts.agent, parts_.models);
        return {};
    }));
    return state;
}

base::Result<json::object> LocalService::set_model(const std::string& agent,
                                                   const std::string& model_ref) {
    return put_model(agent, TRY(parts_.name_model(model_ref)));
}

base::Result<json::object> LocalService::clear_model(const std::string& agent) {
    return put_model(agent, std::nullopt);
}

// Needs no lock on the agent: a turn keeps the model that its attempt was opened with, and reads
// the agent afresh in each of its transactions.
base::Result<json::object> LocalService::put_model(const std::string& agent,
                                                   const std::optional<std::string>& model_ref) {
    auto& turn = parts_.turn;
    json::object state;
    std::vector<events::Committed> committed;
    TRY(turn.store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto facts = TRY(identity::load_facts(tx, domain::AgentId{agent}));
        const bool is_changed = facts.agent.model_override != model_ref;
        facts.agent.model_override = model_ref;
        state = identity::model_state(facts.agent, parts_.models);
        if (!is_changed) return {};
        events::Log log(tx, turn.clock.now(), turn.ids);
        TRY(log.append(facts.agent.agent_id,
                       model_ref ? "agent_model_override_set" : "agent_model_override_cleared",
                       {{"agent_id", agent},
                        {"model", identity::effective_model(facts.agent, parts_.models)},
                        {"pending_next_turn", facts.open_attempt.has_value()}}));
        TRY(tx.put_agent(facts.agent));
        committed = log.take();
        return {};
    }));
    turn.feed.publish(committed);
    return state;
}

base::Result<std::vector<std::string>> LocalService::agents() {
    std::vector<std::string> list;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        for (const auto& id : TRY(tx.agents(kAgentsListMax))) list.push_back(id.value);
        return {};
    }));
    return list;
}

base::Result<std::vector<domain::TranscriptEntry>> LocalService::transcript(
    const std::string& agent, std::int64_t limit) {
    std::vector<domain::TranscriptEntry> list;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        TRY(identity::load_facts(tx, domain::AgentId{agent}));
        for (auto& entry :
             TRY(tx.transcript(domain::AgentId{agent}, {.limit = limit, .newest_first = true})))
            list.push_back(std::move(entry.record));
        return {};
    }));
    std::ranges::reverse(list);
    return list;
}

base::Result<std::vector<domain::Brief>> LocalService::briefs(const std::string& agent,
                                                              std::int64_t limit) {
    std::vector<domain::Brief> list;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        TRY(identity::load_facts(tx, domain::AgentId{agent}));
        for (auto& entry :
             TRY(tx.briefs(domain::AgentId{agent}, {.limit = limit, .newest_first = true})))
            list.push_back(std::move(entry.record));
        return {};
    }));
    std::ranges::reverse(list);
    return list;
}

base::Result<std::vector<domain::Event>> LocalService::events(const std::string& agent,
                                                              std::int64_t after_seq,
                                                              std::int64_t limit) {
    std::vector<domain::Event> list;
    TRY(parts_.turn.store.read([&](store::Tx& tx) -> base::Status {
        TRY(identity::load_facts(tx, domain::AgentId{agent}));
        list = TRY(tx.events(domain::AgentId{agent}, {.after_seq = after_seq, .limit = limit}));
        return {};
    }));
    return list;
}

}  // namespace service
