#include "service/local/agents/reads.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "agent/identity/closure.h"
#include "agent/skills/activation.h"
#include "agent/workspace/workspace.h"
#include "base/text.h"
#include "domain/events/control.h"
#include "flow/ingress/ingress.h"
#include "flow/scheduler/open.h"
#include "flow/scheduler/scheduler.h"
#include "service/local/agents/state_view.h"

namespace service {
namespace {

constexpr std::int64_t kAgentsListMax = 1000;
constexpr std::int64_t kEventsPageMax = 512;
// Failures are kept with their agents, and no index leads to the newest one.
constexpr std::int64_t kFailureScanMax = 1000;
// Of the brief that a list shows: acknowledgements are passed over.
constexpr std::int64_t kBriefsScanned = 3;
constexpr std::size_t kListedBriefChars = 160;

// The newest failure that an agent has not yet got over, briefly.
base::Result<std::optional<json::object>> last_failure(store::Tx& tx) {
    std::optional<json::object> newest;
    base::Time newest_at{};
    for (const auto& id : TRY(tx.listed_agents({}, kFailureScanMax))) {
        // One that cannot be read has no say here; store check and its own status show it.
        const auto statistics = tx.statistics(id);
        if (!statistics || !statistics->last_runtime_failure) continue;
        const auto& failure = *statistics->last_runtime_failure;
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

// The beginning of what the agent reported last, on one line; empty when there is nothing, or when
// it cannot be read.
std::string last_brief(store::Tx& tx, const domain::AgentId& agent) {
    const auto briefs = tx.briefs(agent, {.limit = kBriefsScanned, .newest_first = true});
    if (!briefs) return "";
    for (const auto& [seq, brief] : *briefs)
        if (brief.kind != domain::BriefKind::Ack)
            return base::ellipsize(base::collapse_whitespace(brief.text), kListedBriefChars);
    return "";
}

// Refused when events after `after` were removed: the client would miss them without a word. 0 asks
// for the oldest that is kept.
base::Status check_cursor(store::Tx& tx, const domain::AgentId& agent, std::int64_t after) {
    if (after <= 0) return {};
    const std::int64_t newest = TRY(tx.last_event_seq(agent));
    if (after >= newest) return {};
    const auto oldest = TRY(tx.oldest_rows(agent, store::Stream::Events, 0, 1));
    const std::int64_t oldest_seq = oldest.empty() ? newest + 1 : oldest.front().seq;
    if (after + 1 >= oldest_seq) return {};
    return std::unexpected(base::Error{
        base::ErrorCode::NotFound,
        fmt::format("events after {} are no longer kept; the oldest is {}. Read the agent's state "
                    "and follow from its event_seq",
                    after, oldest_seq),
        "cursor_not_found",
        {{"after_seq", after}, {"oldest_seq", oldest_seq}, {"event_seq", newest}}});
}

// 0 for the newest.
base::Result<std::int64_t> cursor_of(const ListQuery& query) {
    if (query.before.empty()) return 0;
    const auto& text = query.before;
    std::int64_t seq = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seq);
    if (failure == std::errc() && end == text.data() + text.size() && seq > 0) return seq;
    return std::unexpected(
        base::Error{base::ErrorCode::NotFound,
                    fmt::format("'{}' is no part of this list; begin with the newest again",
                                base::printable(base::ellipsize(text, 64))),
                    "cursor_not_found"});
}

}  // namespace

struct LocalReads::Watcher {
    std::function<void(std::int64_t)> changed;
    std::int64_t newest{0};  // Events of two commits may be published in either order.
};

LocalReads::LocalReads(Parts parts)
    : parts_(parts),
      subscription_(parts_.turn.feed.subscribe(
          [this](const events::Committed& committed) { notify(committed); })) {}

std::shared_ptr<void> LocalReads::watch(const std::string& agent,
                                        std::function<void(std::int64_t)> changed) {
    auto watcher = std::make_shared<Watcher>(Watcher{std::move(changed)});
    const std::lock_guard lock(watchers_mutex_);
    for (auto& [name, list] : watchers_)
        std::erase_if(list, [](const auto& entry) { return entry.expired(); });
    std::erase_if(watchers_, [](const auto& entry) { return entry.second.empty(); });
    watchers_[agent].push_back(watcher);
    return watcher;
}

void LocalReads::notify(const events::Committed& committed) {
    std::vector<std::shared_ptr<Watcher>> watching;
    {
        const std::lock_guard lock(watchers_mutex_);
        const auto found = watchers_.find(committed.agent_id.value);
        if (found == watchers_.end()) return;
        for (const auto& entry : found->second)
            if (auto watcher = entry.lock()) watching.push_back(std::move(watcher));
    }
    for (const auto& watcher : watching) {
        if (committed.event.event_seq <= watcher->newest) continue;
        watcher->newest = committed.event.event_seq;
        watcher->changed(watcher->newest);
    }
}

void LocalReads::add_files(json::object& summary, const domain::Agent& agent) const {
    const auto home = parts_.turn.home_of(agent.agent_id);
    add_guidance_sources(summary, parts_.turn.user_home, home);
    // A child has a budget of its own, which is never more than that of its parent.
    if (agent.delegation && agent.delegation->tokens_max > 0)
        summary["token_budget"] = agent.delegation->tokens_max;
    else if (parts_.agent_tokens_max)
        summary["token_budget"] = *parts_.agent_tokens_max;
    add_skills(
        summary,
        {.catalogue = skills::discover(skills::places_of(agent, parts_.turn.user_home, home)),
         .active = skills::shown(agent.active_skills, parts_.turn.session),
         .templates = parts_.homes.templates()});
}

base::Result<json::object> LocalReads::status(const std::string& agent) const {
    json::object summary;
    domain::Agent known;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        known = TRY(known_agent(tx, domain::AgentId{agent}));
        summary = TRY(summary_of(tx, domain::AgentId{agent},
                                 parts_.turn.execution_of(domain::AgentId{agent}), parts_.models));
        return {};
    }));
    add_files(summary, known);
    return summary;
}

base::Result<json::object> LocalReads::model(const std::string& agent) const {
    json::object state;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        const auto facts = TRY(identity::load_facts(tx, domain::AgentId{agent}));
        state = identity::model_state(facts, parts_.models);
        return {};
    }));
    return state;
}

base::Result<std::vector<std::string>> LocalReads::agents() const {
    std::vector<std::string> list;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        list.clear();
        for (domain::AgentId after;;) {
            const auto page = TRY(tx.agents(after, kAgentsPageMax));
            for (const auto& id : page) list.push_back(id.value);
            if (std::ssize(page) < kAgentsPageMax) return {};
            after = page.back();
        }
    }));
    return list;
}

// A part of one of the agent's histories, oldest first. Its cursor is the number of the oldest.
template <class T>
base::Result<Listed<T>> LocalReads::history(const std::string& agent, const ListQuery& query,
                                            HistoryRead<T> read) const {
    const store::Page page{
        .before_seq = TRY(cursor_of(query)), .limit = rows_for(query), .newest_first = true};
    std::vector<store::Numbered<T>> rows;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(kept_agent(tx, domain::AgentId{agent}));
        rows = TRY((tx.*read)(domain::AgentId{agent}, page));
        return {};
    }));
    auto part = listed(std::move(rows), query,
                       [](const store::Numbered<T>& row) { return std::to_string(row.seq); });
    Listed<T> list{.next = std::move(part.next)};
    for (auto& row : std::views::reverse(part.items)) list.items.push_back(std::move(row.record));
    return list;
}

base::Result<Listed<domain::TranscriptEntry>> LocalReads::transcript(const std::string& agent,
                                                                     const ListQuery& query) const {
    return history<domain::TranscriptEntry>(agent, query, &store::HistoryRecords::transcript);
}

base::Result<Listed<domain::Brief>> LocalReads::briefs(const std::string& agent,
                                                       const ListQuery& query) const {
    return history<domain::Brief>(agent, query, &store::HistoryRecords::briefs);
}

base::Result<std::vector<domain::Event>> LocalReads::events(const std::string& agent,
                                                            std::int64_t after_seq,
                                                            std::int64_t limit) const {
    std::vector<domain::Event> list;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(kept_agent(tx, domain::AgentId{agent}));
        TRY(check_cursor(tx, domain::AgentId{agent}, after_seq));
        list = TRY(tx.events(domain::AgentId{agent}, {.after_seq = after_seq, .limit = limit}));
        return {};
    }));
    return list;
}

base::Result<std::vector<json::object>> LocalReads::agent_list(const AgentsQuery& query) const {
    std::vector<json::object> list;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        for (const auto& id : TRY(tx.listed_agents(
                 {query.after}, std::clamp<std::int64_t>(query.limit, 0, kAgentsPageMax)))) {
            const auto facts = identity::load_facts(tx, id);
            if (!facts && facts.error().code != base::ErrorCode::Corrupt)
                return std::unexpected(facts.error());
            list.push_back(
                facts ? identity::agent_list_entry(*facts, parts_.models)
                      : identity::unreadable_list_entry(id, facts.error().message, parts_.models));
            if (!facts || !facts->statistics.last_brief_at) continue;
            if (const auto text = last_brief(tx, id); !text.empty())
                list.back()["last_brief"] = text;
        }
        return {};
    }));
    return list;
}

base::Result<json::object> LocalReads::state(const std::string& agent) const {
    json::object view;
    domain::Agent known;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        known = TRY(known_agent(tx, domain::AgentId{agent}));
        view = TRY(state_view(tx, domain::AgentId{agent},
                              parts_.turn.execution_of(domain::AgentId{agent}), parts_.models));
        return {};
    }));
    add_files(view["agent"].as_object(), known);
    return view;
}

base::Result<std::vector<domain::Task>> LocalReads::tasks(const std::string& agent,
                                                          std::int64_t limit) const {
    std::vector<domain::Task> list;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        list = TRY(tx.active_tasks(domain::AgentId{agent}));
        return {};
    }));
    return newest_changed(std::move(list), limit);
}

base::Result<Listed<domain::Timer>> LocalReads::timers(const std::string& agent,
                                                       const ListQuery& query) const {
    std::vector<domain::Timer> list;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        list = TRY(tx.timers(domain::AgentId{agent}, rows_for(query), {query.before}));
        return {};
    }));
    return listed(std::move(list), query,
                  [](const domain::Timer& timer) { return timer.id.value; });
}

base::Result<json::object> LocalReads::activity() const {
    store::Counts counts;
    std::optional<json::object> failure;
    std::vector<domain::AgentId> set_aside;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        counts = TRY(tx.counts());
        set_aside = TRY(tx.agents_set_aside(kAgentsListMax));
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
                          {"waiting_agent_count", counts.waiting_agents},
                          {"queued_message_count", counts.queued_messages}};
    if (!set_aside.empty()) {
        json::array names;
        for (const auto& agent : set_aside) names.push_back(json::value(agent.value));
        activity["agents_set_aside"] = std::move(names);
    }
    if (failure) activity["last_failure"] = std::move(*failure);
    return activity;
}

base::Result<std::string> LocalReads::debug_prompt(const std::string& agent,
                                                   const std::string& text,
                                                   domain::TrustLevel trust) const {
    const domain::AgentId id{agent};
    const auto message = TRY(ingress::receive({.agent_id = id,
                                               .origin = domain::OperatorOrigin{"debug_prompt"},
                                               .body = domain::TextBody{text},
                                               .surface = domain::DeliverySurface::CliPrompt,
                                               .admission = domain::AdmissionContext::LocalProcess,
                                               .trust = trust},
                                              parts_.turn.clock.now(), parts_.turn.ids));
    const auto home = parts_.turn.home_of(id);
    scheduler::OpenInput input{.model_ref = parts_.models.runtime_default_model};
    input.home = home;
    input.home_workspace = workspace::agent_home(id, home);
    input.session = parts_.turn.session;
    input.now = [this] { return parts_.turn.clock.now(); };
    domain::Agent known;
    scheduler::PromptFacts facts;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        known = TRY(known_agent(tx, id));
        input.limits = parts_.turn.context_limits_of(
            known.model_override.value_or(parts_.models.runtime_default_model));
        facts = TRY(scheduler::load_prompt_facts(tx, known, message, input));
        return {};
    }));
    if (!known.active_workspace_entry) known.active_workspace_entry = input.home_workspace;
    known.execution = parts_.turn.execution_of(id);
    context::read_plan(facts.work, home);
    input.guidance =
        context::read_guidance({parts_.turn.user_home, home, known.active_workspace_entry});
    input.skills = skills::discover(skills::places_of(known, parts_.turn.user_home, home)).skills;
    input.offer = parts_.turn.offers->of(parts_.turn.dispatcher.registry(), known,
                                         domain::instructed_by(message));
    auto said = context::conversation_for(facts.past, message.id);
    auto prompt = scheduler::plan_prompt(known, facts, input, said);
    auto& frame = prompt.frame;
    context::reveal(frame.context_blocks,
                    [this](const auto& trigger) { return parts_.capabilities.url_of(trigger); });
    std::string dump = "## instruction_sources\n";
    for (const auto& [source, text] : input.guidance)
        dump += fmt::format("- {} {} {}\n", base::enum_name(source.scope),
                            base::enum_name(source.kind), base::printable(source.path));
    if (input.guidance.empty()) dump += "none\n";
    dump += "\n";
    provider::Request request{.frame = frame, .history = std::move(said.history)};
    for (const auto& block : frame.system_blocks) dump += block.text + "\n\n";
    provider::each_turn(request, [&](const auto& turn) { dump += context::shown(turn) + "\n\n"; });
    return dump + context::plan_lines(prompt.decisions, facts.past, said.tokens) + "\n";
}

base::Result<std::vector<domain::Event>> LocalReads::event_page(const std::string& agent,
                                                                const EventsQuery& query) const {
    std::vector<domain::Event> list;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(kept_agent(tx, domain::AgentId{agent}));
        TRY(check_cursor(tx, domain::AgentId{agent}, query.after_seq.value_or(0)));
        list = TRY(tx.events(domain::AgentId{agent},
                             {.after_seq = query.after_seq.value_or(0),
                              .before_seq = query.before_seq.value_or(0),
                              .limit = std::clamp(query.limit, std::int64_t{0}, kEventsPageMax),
                              .newest_first = query.newest_first}));
        return {};
    }));
    return list;
}

base::Result<std::int64_t> LocalReads::newest_event(const std::string& agent) const {
    std::int64_t newest = 0;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(kept_agent(tx, domain::AgentId{agent}));
        newest = TRY(tx.last_event_seq(domain::AgentId{agent}));
        return {};
    }));
    return newest;
}

}  // namespace service
