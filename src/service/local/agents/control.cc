#include "service/local/agents/control.h"

#include "flow/turn/compaction/gather.h"
#include "flow/turn/compaction/on_request.h"

#include <algorithm>

#include "agent/homes/builtin_templates.h"
#include "agent/identity/closure.h"
#include "agent/identity/transition.h"
#include "agent/workspace/choose.h"
#include "agent/workspace/moves.h"
#include "agent/workspace/workspace.h"
#include "domain/events/control.h"
#include "domain/events/workspace.h"
#include "flow/scheduler/lifecycle.h"
#include "flow/scheduler/recovery.h"
#include "flow/scheduler/timers/timers.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

scheduler::Commander commander(const Caller& caller) {
    return {std::string(base::enum_name(caller.admission)), caller.actor_id};
}

scheduler::Control command_of(LifecycleAction action) {
    switch (action) {
        case LifecycleAction::Pause:
            return scheduler::Control::Pause;
        case LifecycleAction::Resume:
        case LifecycleAction::Start:
            return scheduler::Control::Resume;
        case LifecycleAction::Stop:
            return scheduler::Control::Stop;
        case LifecycleAction::Recover:
        case LifecycleAction::RecoverDropMessage:
            return scheduler::Control::Recover;
    }
    return scheduler::Control::Resume;
}

std::unexpected<base::Error> conflict(std::string kind, std::string message, json::object details) {
    return std::unexpected(
        base::Error{ErrorCode::Conflict, std::move(message), std::move(kind), std::move(details)});
}

// The open attempt that `run_id` names, or any when it names none.
base::Result<domain::Attempt> current_run(store::Tx& tx, const domain::AgentId& agent,
                                          const std::optional<std::string>& run_id) {
    auto open = TRY(tx.open_attempt_of(agent));
    if (!open)
        return conflict("no_current_run", fmt::format("agent {} is not running anything", agent),
                        {{"agent_id", agent.value}});
    if (run_id && *run_id != open->run_id.value)
        return conflict("stale_run_id",
                        fmt::format("agent {0} runs {1}, not {2}; check what it does: "
                                    "holon status --agent {0}",
                                    agent, open->run_id, *run_id),
                        {{"requested_run_id", *run_id}, {"current_run_id", open->run_id.value}});
    return std::move(*open);
}

base::Status append(events::Log& log, const domain::AgentId& agent,
                    std::vector<workspace::Note> notes) {
    for (auto& note : notes) TRY(log.append(agent, std::move(note)));
    return {};
}

}  // namespace

base::Status check_operator(const Caller& caller) {
    if (caller.admission == domain::AdmissionContext::ControlAuthenticated ||
        caller.admission == domain::AdmissionContext::LocalProcess)
        return {};
    return fail(ErrorCode::Refused, "only the operator may do this");
}

// Agents ----------------------------------------------------------------------------------------

base::Result<domain::Agent> LocalControl::make_agent(events::Log& log, const domain::AgentId& id,
                                                     bool temporary, std::string_view admission) {
    domain::Agent agent{.agent_id = id, .execution = parts_.turn.execution_of(id)};
    agent.identity = {.agent_id = id, .created_at = log.now(), .updated_at = log.now()};
    if (id.value == parts_.default_agent) agent.identity.kind = domain::AgentKind::Default;
    if (temporary) {
        agent.identity.kind = domain::AgentKind::Child;
        agent.identity.visibility = domain::Visibility::Private;
        agent.identity.profile_preset = domain::ProfilePreset::PrivateChild;
    }
    agent.active_workspace_entry = workspace::agent_home(id, parts_.turn.home_of(id));
    TRY(log.append(
        id, domain::events::AgentCreated{
                .target_agent_id = id,
                .admission_context = std::string(admission),
                .boundary = workspace::boundary(agent.execution, *agent.active_workspace_entry)}));
    if (!temporary && parts_.capabilities.is_available())
        TRY(scheduler::provision(log, id, parts_.capabilities.token_hash_of()));
    return agent;
}

base::Status LocalControl::boot(const domain::AgentId& agent) const {
    return parts_.homes.complete(agent);
}

base::Status LocalControl::complete_default(const domain::AgentId& agent) {
    if (agent.value != parts_.default_agent) return {};
    prepare_homes();
    return boot(agent);
}

void LocalControl::prepare_homes() {
    parts_.homes.prepare([this](const domain::AgentId& agent) {
        bool is_known = true;  // In doubt nothing is removed.
        (void)parts_.transactions.read([&](store::Tx& tx) -> base::Status {
            is_known = TRY(tx.agent(agent)).has_value();
            return {};
        });
        return is_known;
    });
}

base::Result<homes::Creation> LocalControl::make_home(
    const domain::AgentId& agent, const std::optional<std::string>& template_name) {
    if (template_name && agent.value == parts_.default_agent)
        return fail(ErrorCode::InvalidInput,
                    "the default agent {} is made from the template {}; edit its AGENTS.md instead",
                    agent, homes::kDefaultTemplate);
    prepare_homes();
    return parts_.homes.create(agent, template_name, parts_.turn.clock.now());
}

base::Result<std::vector<json::object>> LocalControl::templates() {
    prepare_homes();
    std::vector<json::object> list;
    for (const auto& entry : parts_.homes.templates())
        list.push_back(base::to_json(entry).as_object());
    return list;
}

base::Result<domain::AgentIdentity> LocalControl::create_agent(
    const std::string& agent, const std::optional<std::string>& template_name,
    const Caller& caller) {
    TRY(check_operator(caller));
    const domain::AgentId id{agent};
    if (!domain::is_agent_id(agent) || agent.starts_with("tmp_"))
        return fail(ErrorCode::InvalidInput,
                    "'{}' is not an agent id: use letters, digits, '.', '-' and '_', at most 64 of "
                    "them, and do not start with tmp_",
                    agent);
    std::optional<domain::Agent> made;
    const auto find = [&](store::Tx& tx) -> base::Status {
        made = TRY(tx.agent(id));
        if (made && made->identity.status == domain::IdentityStatus::Archived)
            return fail(ErrorCode::Conflict, "agent {} is archived; choose another id", id);
        if (made && template_name)
            return fail(ErrorCode::Conflict,
                        "agent {} exists already, and a template is applied to a new agent only",
                        id);
        return {};
    };
    TRY(parts_.transactions.read(find));
    if (!made) {
        auto home = TRY(make_home(id, template_name));
        TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
            TRY(find(log.tx()));
            if (made) return {};
            made = TRY(make_agent(log, id, false, base::enum_name(caller.admission)));
            made->booting = true;
            return log.tx().put_agent(*made);
        }));
        home.keep();
    } else if (!made->booting) {
        TRY(complete_default(id));
    }
    if (!made->booting) return made->identity;
    // A crash before the second commit leaves it booting; the scheduler or the next caller
    // continues.
    TRY(boot(id));
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto known = TRY(log.tx().agent(id));
        if (!known || !known->booting) return {};
        known->booting = false;
        TRY(log.tx().put_agent(*known));
        return identity::record_state(log, id, domain::AgentStatus::Booting);
    }));
    return made->identity;
}

base::Status LocalControl::set_lifecycle(const std::string& agent, LifecycleAction action,
                                         const Caller& caller) {
    TRY(check_operator(caller));
    const domain::AgentId id{agent};
    const auto command = command_of(action);
    scheduler::Controlled step;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), id));
        if (action == LifecycleAction::RecoverDropMessage) TRY(scheduler::drop_message(log, id));
        step = TRY(scheduler::apply_control(log, id, command, commander(caller)));
        return {};
    }));
    if (command == scheduler::Control::Pause && step.stopped)
        return conflict("agent_stopped", fmt::format("agent {} is stopped already", id),
                        {{"agent_id", agent}, {"hint", "holon agent start " + agent}});
    if (command == scheduler::Control::Resume || command == scheduler::Control::Recover)
        parts_.transactions.post([this, id, is_resumed = command == scheduler::Control::Resume] {
            if (is_resumed) parts_.scheduler.release(id);
            parts_.scheduler.wake(id);
            parts_.scheduler.timers_changed();  // Those of an agent that was set aside waited.
        });
    else if (step.ends_turn)
        parts_.transactions.post([this, id, stopped = step.stopped] {
            parts_.scheduler.halt(id, stopped ? "agent_stopped" : "agent_paused",
                                  turn::StopKind::Interrupt);
        });
    if (action == LifecycleAction::Stop) order_stops(id);
    return {};
}

base::Result<json::object> LocalControl::abort_run(const std::string& agent,
                                                   const std::optional<std::string>& run_id,
                                                   const Caller& caller) {
    TRY(check_operator(caller));
    const domain::AgentId id{agent};
    domain::RunId run;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), id));
        auto attempt = TRY(current_run(log.tx(), id, run_id));
        run = attempt.run_id;
        // On record before anything is stopped: a crash in between ends the turn all the same.
        attempt.is_aborted = true;
        TRY(log.tx().put_attempt(attempt));
        TRY(log.append(id,
                       domain::events::RunAbortRequested{
                           .agent_id = id, .run_id = run, .admission_context = caller.admission}));
        TRY(scheduler::apply_control(log, id, scheduler::Control::Stop, commander(caller)));
        return {};
    }));
    parts_.transactions.post([this, id] {
        parts_.scheduler.halt(id, std::string(domain::kReasonAborted), turn::StopKind::Abort);
    });
    order_stops(id);
    return json::object{{"aborted", true},
                        {"agent_id", agent},
                        {"run_id", run.value},
                        {"mode", "stop_after_abort"},
                        {"admission_context", base::enum_name(caller.admission)}};
}

base::Result<json::object> LocalControl::compact_conversation(const std::string& agent,
                                                              const Caller& caller) {
    TRY(check_operator(caller));
    const domain::AgentId id{agent};
    std::vector<context::KnownFile> files;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        files = TRY(turn::files_of_idle(tx, id));
        return {};
    }));
    const auto files_now = turn::read_files(files);
    turn::RequestedCompaction made;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        made = TRY(
            turn::compact_now(log, TRY(known_agent(log.tx(), id)), caller.admission, files_now));
        return {};
    }));
    const auto& compaction = made.compaction;
    json::object answer{{"compacted", made.is_applied},
                        {"agent_id", agent},
                        {"compacted_rounds", compaction.rounds},
                        {"shortened_results", compaction.receipts.size()},
                        {"previous_estimated_tokens", compaction.tokens_before},
                        {"projected_estimated_tokens", compaction.tokens_after}};
    if (!made.is_applied)
        answer["reason"] =
            "nothing to compact: the conversation is short, or what is left of it is needed";
    return answer;
}

// Models ----------------------------------------------------------------------------------------

base::Result<json::object> LocalControl::set_model(const std::string& agent,
                                                   const std::string& model_ref) {
    return put_model(agent, TRY(parts_.name_model(model_ref)));
}

base::Result<json::object> LocalControl::clear_model(const std::string& agent) {
    return put_model(agent, std::nullopt);
}

// Needs no lock on the agent: a turn keeps the model that its attempt was opened with, and reads
// the agent afresh in each of its transactions.
base::Result<json::object> LocalControl::put_model(const std::string& agent,
                                                   const std::optional<std::string>& model_ref) {
    json::object state;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto facts = TRY(identity::load_facts(log.tx(), domain::AgentId{agent}));
        const bool is_changed = facts.agent.model_override != model_ref;
        facts.agent.model_override = model_ref;
        state = identity::model_state(facts, parts_.models);
        if (!is_changed) return {};
        const domain::events::ModelOverride change{
            .agent_id = facts.agent.agent_id,
            .model = identity::effective_model(facts.agent, parts_.models),
            .pending_next_turn = facts.open_attempt.has_value()};
        if (model_ref)
            TRY(log.append(change.agent_id, domain::events::AgentModelOverrideSet{change}));
        else
            TRY(log.append(change.agent_id, domain::events::AgentModelOverrideCleared{change}));
        return log.tx().put_agent(facts.agent);
    }));
    return state;
}

// Timers ----------------------------------------------------------------------------------------

base::Result<domain::Timer> LocalControl::create_timer(const std::string& agent,
                                                       const TimerRequest& request,
                                                       const Caller& caller) {
    TRY(check_operator(caller));
    domain::Timer timer;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), domain::AgentId{agent}));
        timer = TRY(scheduler::create_timer(log, {.agent_id = {agent},
                                                  .duration_ms = request.duration_ms,
                                                  .interval_ms = request.interval_ms,
                                                  .summary = request.summary,
                                                  .trust = request.trust,
                                                  .at = request.at,
                                                  .cron = request.cron,
                                                  .time_zone = request.time_zone.value_or("UTC")}));
        return {};
    }));
    parts_.transactions.post([this] { parts_.scheduler.timers_changed(); });
    return timer;
}

base::Result<domain::Timer> LocalControl::cancel_timer(const std::string& agent,
                                                       const std::string& timer,
                                                       const Caller& caller) {
    TRY(check_operator(caller));
    domain::Timer cancelled;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), domain::AgentId{agent}));
        cancelled = TRY(scheduler::cancel_timer(log, {agent}, domain::TimerId{timer}));
        return {};
    }));
    parts_.transactions.post([this] { parts_.scheduler.timers_changed(); });
    return cancelled;
}

// External triggers -----------------------------------------------------------------------------

base::Result<json::object> LocalControl::external_trigger(const std::string& agent, bool rotate,
                                                          const Caller& caller) {
    TRY(check_operator(caller));
    if (!parts_.capabilities.is_available())
        return fail(ErrorCode::Unavailable, "this runtime has no key for external triggers");
    domain::ExternalTrigger trigger;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), domain::AgentId{agent}));
        if (rotate) TRY(scheduler::revoke(log, {agent}));
        // What the operator has revoked comes back by the operator's word only.
        if (!rotate && !TRY(log.tx().active_trigger({agent})) &&
            !TRY(log.tx().triggers({agent}, 1)).empty())
            return fail(ErrorCode::Conflict,
                        "the wake URL of agent {0} is revoked; make a new one with: holon trigger "
                        "rotate --agent {0}",
                        agent);
        trigger = TRY(scheduler::ensure_trigger(log, {agent}, parts_.capabilities.token_hash_of()));
        return {};
    }));
    return json::object{{"external_trigger_id", trigger.external_trigger_id.value},
                        {"trigger_url", parts_.capabilities.url_of(trigger.external_trigger_id)},
                        {"target_agent_id", agent},
                        {"delivery_mode", "wake_hint"},
                        {"status", base::enum_name(trigger.status)}};
}

base::Status LocalControl::revoke_trigger(const std::string& agent, const Caller& caller) {
    TRY(check_operator(caller));
    return parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), domain::AgentId{agent}));
        return scheduler::revoke(log, {agent});
    });
}

// Workspaces ------------------------------------------------------------------------------------

base::Result<domain::WorkspaceEntry> LocalControl::attach_workspace(const std::string& agent,
                                                                    const std::string& path,
                                                                    const Caller& caller) {
    TRY(check_operator(caller));
    auto entry = TRY(workspace::enter(path, ""));
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto known = TRY(known_agent(log.tx(), domain::AgentId{agent}));
        TRY(log.tx().put_workspace(entry));
        auto notes = workspace::attach(known, entry);
        if (known.attached_workspaces.size() > workspace::kAttachedMax)
            return fail(ErrorCode::Refused,
                        "agent {} has {} workspaces attached, and there may be no more; take one "
                        "away first: holon workspace detach ID",
                        agent, workspace::kAttachedMax);
        TRY(log.tx().put_agent(known));
        return append(log, known.agent_id, std::move(notes));
    }));
    return entry;
}

base::Result<domain::WorkspaceEntry> LocalControl::move_agent(const std::string& agent,
                                                              const std::string& path,
                                                              const Caller& caller) {
    TRY(check_operator(caller));
    auto entry = TRY(workspace::enter(path, ""));
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto known = TRY(known_agent(log.tx(), domain::AgentId{agent}));
        if (TRY(log.tx().open_attempt_of(known.agent_id)))
            return fail(ErrorCode::Conflict,
                        "agent {} is in a turn; wait for its end, then move it", agent);
        TRY(log.tx().put_workspace(entry));
        known.execution = parts_.turn.execution_of(known.agent_id);
        TRY(append(log, known.agent_id, workspace::move_to(known, entry)));
        return log.tx().put_agent(known);
    }));
    return entry;
}

base::Status LocalControl::exit_workspace(const std::string& agent, const Caller& caller) {
    TRY(check_operator(caller));
    return parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto known = TRY(known_agent(log.tx(), domain::AgentId{agent}));
        const auto home =
            workspace::agent_home(known.agent_id, parts_.turn.home_of(known.agent_id));
        if (known.active_workspace_entry == home) return {};
        if (TRY(log.tx().open_attempt_of(known.agent_id)))
            return fail(ErrorCode::Conflict,
                        "agent {} is in a turn; wait for its end, then change its workspace",
                        agent);
        known.execution = parts_.turn.execution_of(known.agent_id);
        TRY(append(log, known.agent_id, workspace::move_to(known, home)));
        return log.tx().put_agent(known);
    });
}

base::Status LocalControl::detach_workspace(const std::string& agent,
                                            const std::string& workspace_id, const Caller& caller) {
    TRY(check_operator(caller));
    return parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto known = TRY(known_agent(log.tx(), domain::AgentId{agent}));
        if (workspace_id == workspace::kAgentHome ||
            workspace_id == workspace::agent_home_id(known.agent_id))
            return fail(ErrorCode::Refused,
                        "AgentHome is where agent {} works when nothing else is chosen; it cannot "
                        "be detached",
                        agent);
        if (std::erase(known.attached_workspaces, workspace_id) == 0)
            return fail(ErrorCode::NotFound, "agent {} has no workspace {} attached", agent,
                        workspace_id);
        if (known.active_workspace_entry &&
            known.active_workspace_entry->workspace_id == workspace_id)
            return fail(ErrorCode::Conflict,
                        "agent {0} works in {1}; switch it to another workspace first, by default "
                        "to AgentHome: holon workspace exit --agent {0}",
                        agent, workspace_id);
        TRY(log.tx().put_agent(known));
        return log.append(known.agent_id, domain::events::WorkspaceDetached{
                                              .agent_id = {agent}, .workspace_id = workspace_id});
    });
}

}  // namespace service
