#include "service/local/agents/state_view.h"

#include <algorithm>
#include <map>

#include "agent/context/guidance.h"
#include "base/text.h"
#include "exec/tasks/spec.h"
#include "flow/supervision/supervision.h"
#include "service/local/agents/transactions.h"

namespace service {
namespace {

constexpr std::int64_t kChildrenShown = 64;
constexpr std::int64_t kTasksShown = 40;
constexpr std::int64_t kTimersShown = 50;
constexpr std::int64_t kWorkItemsShown = 64;  // Of each kind.
constexpr std::int64_t kTriggersShown = 50;
constexpr std::int64_t kNotificationsShown = 50;
constexpr std::int64_t kRecentNotifications = 10;
constexpr std::size_t kDetailCharsMax = 2048;
constexpr std::size_t kDetailItemsMax = 64;
constexpr std::int64_t kBriefsCounted = 50;
constexpr std::int64_t kEventsCounted = 100;

// Long strings and lists cut, at every level.
json::value shortened(const json::value& value) {
    if (const auto* text = value.if_string()) {
        const std::string_view whole(*text);
        if (base::char_count(whole) <= kDetailCharsMax) return value;
        return json::value(std::string(base::first_chars(whole, kDetailCharsMax - 3)) + "...");
    }
    if (const auto* list = value.if_array()) {
        json::array out;
        for (std::size_t i = 0; i < std::min(list->size(), kDetailItemsMax); ++i)
            out.push_back(shortened((*list)[i]));
        return out;
    }
    if (const auto* object = value.if_object()) {
        json::object out;
        for (const auto& member : *object) out[member.key()] = shortened(member.value());
        return out;
    }
    return value;
}

json::array tasks_view(std::vector<domain::Task> tasks) {
    json::array list;
    for (auto& task : newest_changed(std::move(tasks), kTasksShown)) {
        if (task.detail) task.detail = shortened(*task.detail);
        list.push_back(base::to_json(task));
    }
    return list;
}

json::object session_view(const identity::AgentFacts& facts) {
    const auto& terminal = facts.statistics.last_turn_terminal;
    return {{"current_run_id", facts.open_attempt ? json::value(facts.open_attempt->run_id.value)
                                                  : json::value(nullptr)},
            {"pending_count", facts.pending},
            {"last_turn", terminal ? base::to_json(*terminal) : json::value(nullptr)}};
}

// Each attached workspace with its folder; one that the host does not know any more has none.
base::Status add_attached(store::Tx& tx, const domain::Agent& agent, json::object& execution) {
    json::array pairs;
    for (const auto& id : agent.attached_workspaces) {
        const auto known = TRY(tx.workspace(id));
        pairs.push_back(json::array{json::value(id),
                                    json::value(known ? known->workspace_anchor : std::string())});
    }
    execution["attached_workspaces"] = std::move(pairs);
    return {};
}

// The children that the agent supervises, by their ids.
base::Result<json::array> active_children(store::Tx& tx, const identity::AgentFacts& facts) {
    std::map<std::string, json::object> by_id;
    for (const auto& task : facts.active_tasks) {
        const auto supervised = tasks::supervised_by(task);
        if (std::ssize(by_id) >= kChildrenShown) break;
        if (!supervised || !supervised->child_agent_id) continue;
        const auto& id = *supervised->child_agent_id;
        auto seen = TRY(supervision::observe(tx, id));
        if (!seen) continue;
        by_id.emplace(id.value,
                      identity::child_summary(TRY(identity::load_facts(tx, id)), std::move(*seen)));
    }
    json::array list;
    for (auto& [id, entry] : by_id) list.push_back(std::move(entry));
    return list;
}

// Records: open and unblocked ones, blocked ones, then the completed ones that changed last.
base::Result<json::array> work_items_view(store::Tx& tx, const domain::AgentId& agent) {
    using domain::WorkReadiness;
    json::array list;
    const auto add = [&](std::vector<domain::WorkItem> items, bool by_creation) {
        if (by_creation) std::ranges::sort(items, {}, &domain::WorkItem::created_at);
        for (const auto& item : items) list.push_back(base::to_json(item));
    };
    auto open =
        TRY(tx.work_items(agent, {.readiness = WorkReadiness::Runnable, .limit = kWorkItemsShown}));
    for (auto& item : TRY(tx.work_items(
             agent, {.readiness = WorkReadiness::WaitingForOperator, .limit = kWorkItemsShown})))
        open.push_back(std::move(item));
    add(std::move(open), true);
    add(TRY(tx.work_items(agent, {.readiness = WorkReadiness::Blocked, .limit = kWorkItemsShown})),
        true);
    add(TRY(tx.work_items(agent,
                          {.readiness = WorkReadiness::Completed, .limit = kWorkItemsShown})),
        false);
    return list;
}

}  // namespace

std::vector<domain::Task> newest_changed(std::vector<domain::Task> tasks, std::int64_t limit) {
    std::ranges::sort(tasks, std::greater{}, &domain::Task::updated_at);
    const auto kept = static_cast<std::size_t>(std::max(limit, std::int64_t{0}));
    if (tasks.size() > kept)
        tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(kept), tasks.end());
    return tasks;
}

base::Result<json::object> summary_of(store::Tx& tx, const domain::AgentId& agent,
                                      const domain::Execution& execution,
                                      const identity::ModelFacts& models) {
    TRY(known_agent(tx, agent));
    auto facts = TRY(identity::load_facts(tx, agent));
    facts.agent.execution = execution;
    auto summary = identity::agent_summary(facts, models);
    if (auto* execution = summary.if_contains("execution"))
        TRY(add_attached(tx, facts.agent, execution->as_object()));
    const auto newest = TRY(tx.briefs(agent, {.limit = 1, .newest_first = true}));
    const std::int64_t briefs = newest.empty() ? 0 : newest.front().seq;
    summary["recent_brief_count"] = std::min(briefs, kBriefsCounted);
    summary["recent_operator_notifications"] =
        base::to_json(TRY(tx.notifications(agent, kRecentNotifications)));
    summary["recent_operator_deliveries"] =
        base::to_json(TRY(tx.deliveries(agent, kRecentNotifications)));
    summary["active_children"] = TRY(active_children(tx, facts));
    summary["recent_event_count"] = std::min(TRY(tx.last_event_seq(agent)), kEventsCounted);
    return summary;
}

void add_guidance_sources(json::object& summary, const std::filesystem::path& user_home,
                          const std::filesystem::path& agent_home) {
    context::GuidanceRoots roots{.user_home = user_home, .agent_home = agent_home};
    if (const auto* execution = base::find(summary, "execution"))
        roots.workspace = domain::WorkspaceEntry{
            .workspace_anchor = base::string_at(*execution, "workspace_anchor")};
    json::object sources;
    for (const auto& source : context::guidance_sources(roots))
        sources[fmt::format("{}_source", base::enum_name(source.scope))] = base::to_json(source);
    summary["loaded_agents_md"] = std::move(sources);
}

void add_skills(json::object& summary, const SkillsFacts& facts) {
    const json::value skills = base::to_json(facts.catalogue.skills);
    const json::value active = base::to_json(facts.active);
    summary["skills"] = {{"agent_templates_catalog", base::to_json(facts.templates)},
                         {"discovered_roots", base::to_json(facts.catalogue.roots)},
                         {"discoverable_skills", skills},
                         {"attached_skills", skills},
                         {"active_skills", active}};
    if (auto* state = summary.if_contains("agent")) state->as_object()["active_skills"] = active;
}

base::Result<json::object> state_view(store::Tx& tx, const domain::AgentId& agent,
                                      const domain::Execution& now,
                                      const identity::ModelFacts& models) {
    json::object summary = TRY(summary_of(tx, agent, now, models));
    const auto facts = TRY(identity::load_facts(tx, agent));
    const json::object& state = summary.at("agent").as_object();
    json::object workspace{{"attached_workspaces", state.at("attached_workspaces")},
                           {"active_workspace_entry", state.at("active_workspace_entry")},
                           {"active_workspace_occupancy", nullptr},
                           {"worktree_session", state.at("worktree_session")}};
    json::array triggers;
    for (const auto& trigger : TRY(tx.triggers(agent, kTriggersShown)))
        triggers.push_back(identity::trigger_view(trigger));
    const auto* execution = base::find(summary, "execution");
    json::object view{{"session", session_view(facts)},
                      {"tasks", tasks_view(facts.active_tasks)},
                      {"timers", base::to_json(TRY(tx.timers(agent, kTimersShown, {})))},
                      {"work_items", TRY(work_items_view(tx, agent))},
                      {"waiting_intents", json::array{}},
                      {"external_triggers", std::move(triggers)},
                      {"operator_notifications",
                       base::to_json(TRY(tx.notifications(agent, kNotificationsShown)))},
                      {"workspace", std::move(workspace)},
                      {"execution", execution ? *execution : json::value(nullptr)}};
    view["agent"] = std::move(summary);
    return view;
}

}  // namespace service
