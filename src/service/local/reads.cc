// What operators read. Nothing here starts an agent or makes one.
#include <algorithm>

#include "agent/identity/closure.h"
#include "agent/workspace/workspace.h"
#include "domain/events/control.h"
#include "flow/ingress/ingress.h"
#include "service/local/local_service.h"
#include "service/local/state_view.h"

namespace service {
namespace {

constexpr std::int64_t kAgentsListMax = 1000;
constexpr std::int64_t kEventsPageMax = 512;
constexpr std::int64_t kListMax = 1000;
// Failures are kept with their agents, and no index leads to the newest one.
constexpr std::int64_t kFailureScanMax = 1000;

// The newest failure that an agent has not yet got over, briefly.
base::Result<std::optional<json::object>> last_failure(store::Tx& tx) {
    std::optional<json::object> newest;
    base::Time newest_at{};
    for (const auto& id : TRY(tx.listed_agents({}, kFailureScanMax))) {
        const auto agent = TRY(tx.agent(id));
        if (!agent || !agent->last_runtime_failure) continue;
        const auto& failure = *agent->last_runtime_failure;
        if (newest && failure.occurred_at <= newest_at) continue;
        newest_at = failure.occurred_at;
        newest = json::object{{"occurred_at", base::to_text(failure.occurred_at)},
                              {"summary", fmt::format("agent {}: {}", id, failure.summary)},
                              {"phase", failure.phase},
                              {"detail_hint", failure.detail_hint.value_or(
                                                  fmt::format("holon transcript --agent {}", id))}};
    }
    return newest;
}

}  // namespace

base::Result<domain::Agent> known_agent(store::Tx& tx, const domain::AgentId& id) {
    auto agent = TRY(tx.agent(id));
    if (!agent || agent->identity.status == domain::IdentityStatus::Archived)
        return base::fail(base::ErrorCode::NotFound,
                          "there is no agent '{}'; create it with: holon agent create {}", id, id);
    return std::move(*agent);
}

base::Result<json::object> LocalService::status(const std::string& agent) {
    json::object summary;
    TRY(read([&](store::Tx& tx) -> base::Status {
        summary = TRY(summary_of(tx, domain::AgentId{agent},
                                 parts_.turn.execution_of(domain::AgentId{agent}), parts_.models));
        return {};
    }));
    add_guidance_sources(summary, parts_.turn.home_of(domain::AgentId{agent}));
    return summary;
}

base::Result<json::object> LocalService::model(const std::string& agent) {
    json::object state;
    TRY(read([&](store::Tx& tx) -> base::Status {
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
    json::object state;
    TRY(write([&](events::Log& log) -> base::Status {
        auto facts = TRY(identity::load_facts(log.tx(), domain::AgentId{agent}));
        const bool is_changed = facts.agent.model_override != model_ref;
        facts.agent.model_override = model_ref;
        state = identity::model_state(facts.agent, parts_.models);
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

base::Result<std::vector<std::string>> LocalService::agents() {
    std::vector<std::string> list;
    TRY(read([&](store::Tx& tx) -> base::Status {
        for (const auto& id : TRY(tx.agents(kAgentsListMax))) list.push_back(id.value);
        return {};
    }));
    return list;
}

base::Result<std::vector<domain::TranscriptEntry>> LocalService::transcript(
    const std::string& agent, std::int64_t limit) {
    std::vector<domain::TranscriptEntry> list;
    TRY(read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
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
    TRY(read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
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
    TRY(read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        list = TRY(tx.events(domain::AgentId{agent}, {.after_seq = after_seq, .limit = limit}));
        return {};
    }));
    return list;
}

base::Result<std::vector<json::object>> LocalService::agent_list() {
    std::vector<json::object> list;
    TRY(read([&](store::Tx& tx) -> base::Status {
        for (const auto& id : TRY(tx.listed_agents({}, kAgentsListMax)))
            list.push_back(
                identity::agent_list_entry(TRY(identity::load_facts(tx, id)), parts_.models));
        return {};
    }));
    return list;
}

base::Result<json::object> LocalService::state(const std::string& agent) {
    json::object view;
    TRY(read([&](store::Tx& tx) -> base::Status {
        view = TRY(state_view(tx, domain::AgentId{agent},
                              parts_.turn.execution_of(domain::AgentId{agent}), parts_.models));
        return {};
    }));
    add_guidance_sources(view["agent"].as_object(), parts_.turn.home_of(domain::AgentId{agent}));
    return view;
}

base::Result<std::vector<domain::Task>> LocalService::tasks(const std::string& agent,
                                                            std::int64_t limit) {
    std::vector<domain::Task> list;
    TRY(read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        list = TRY(tx.active_tasks(domain::AgentId{agent}));
        return {};
    }));
    return newest_changed(std::move(list), limit);
}

base::Result<std::vector<domain::Timer>> LocalService::timers(const std::string& agent,
                                                              std::int64_t limit) {
    std::vector<domain::Timer> list;
    TRY(read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        list = TRY(tx.timers(domain::AgentId{agent}, std::min(limit, kListMax)));
        return {};
    }));
    return list;
}

base::Result<json::object> LocalService::activity() {
    store::Counts counts;
    std::optional<json::object> failure;
    TRY(read([&](store::Tx& tx) -> base::Status {
        counts = TRY(tx.counts());
        failure = TRY(last_failure(tx));
        return {};
    }));
    const char* state = "idle";
    if (counts.waiting_agents + counts.active_tasks > 0) state = "waiting";
    if (counts.open_attempts > 0) state = "processing";
    json::object activity{{"state", state},
                          {"active_agent_count", counts.listed_agents},
                          {"active_task_count", counts.active_tasks},
                          {"processing_agent_count", counts.open_attempts},
                          {"waiting_agent_count", counts.waiting_agents}};
    if (failure) activity["last_failure"] = std::move(*failure);
    return activity;
}

base::Result<std::string> LocalService::debug_prompt(const std::string& agent,
                                                     const std::string& text,
                                                     domain::TrustLevel trust) {
    const domain::AgentId id{agent};
    const auto message = TRY(ingress::receive({.agent_id = id,
                                               .origin = domain::OperatorOrigin{"debug_prompt"},
                                               .body = domain::TextBody{text},
                                               .surface = domain::DeliverySurface::CliPrompt,
                                               .admission = domain::AdmissionContext::LocalProcess,
                                               .trust = trust},
                                              parts_.turn.clock.now(), parts_.turn.ids));
    context::Frame frame;
    const auto home = parts_.turn.home_of(id);
    TRY(read([&](store::Tx& tx) -> base::Status {
        auto known = TRY(known_agent(tx, id));
        if (!known.active_workspace_entry)
            known.active_workspace_entry = workspace::agent_home(id, home);
        scheduler::OpenInput input{.model_ref = parts_.models.runtime_default_model};
        input.home_workspace = workspace::agent_home(id, home);
        input.guidance = scheduler::read_guidance(home, known.active_workspace_entry);
        known.execution = parts_.turn.execution_of(id);
        input.tools = turn::declarations(parts_.turn.dispatcher.registry(), known);
        frame = TRY(scheduler::plan_frame(tx, known, message, input));
        return {};
    }));
    context::reveal(frame.context_blocks, [this](const auto& trigger) { return url_of(trigger); });
    std::string dump;
    for (const auto* blocks : {&frame.system_blocks, &frame.context_blocks})
        for (const auto& block : *blocks) dump += block.text + "\n\n";
    return dump;
}

base::Result<std::vector<domain::Event>> LocalService::event_page(const std::string& agent,
                                                                  const EventsQuery& query) {
    std::vector<domain::Event> list;
    TRY(read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        list = TRY(tx.events(domain::AgentId{agent},
                             {.after_seq = query.after_seq.value_or(0),
                              .before_seq = query.before_seq.value_or(0),
                              .limit = std::clamp(query.limit, std::int64_t{0}, kEventsPageMax),
                              .newest_first = query.newest_first}));
        return {};
    }));
    return list;
}

base::Result<std::int64_t> LocalService::newest_event(const std::string& agent) {
    std::int64_t newest = 0;
    TRY(read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        newest = TRY(tx.last_event_seq(domain::AgentId{agent}));
        return {};
    }));
    return newest;
}

}  // namespace service
