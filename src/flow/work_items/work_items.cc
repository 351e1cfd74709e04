#include "flow/work_items/work_items.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "agent/identity/facts.h"
#include "base/text.h"
#include "domain/events/waiting.h"
#include "domain/events/work.h"
#include "flow/queue/waits.h"
#include "flow/work_items/reminders.h"

namespace work_items {
namespace {

using domain::Wait;
using domain::WaitKind;
using domain::WorkItem;

constexpr std::size_t kWaitingForChars = 240;
constexpr std::size_t kPreviewChars = 240;

std::unexpected<base::Error> refused(const work::Refusal& refusal) {
    return std::unexpected(
        base::Error{.code = refusal.code, .message = refusal.message, .kind = refusal.kind});
}

base::Result<WorkItem> open_item(store::Tx& tx, const domain::AgentId& agent,
                                 const domain::WorkItemId& id) {
    auto item = TRY(tx.work_item(id));
    if (const auto refusal = work::may_change(item, id, agent)) return refused(*refusal);
    return std::move(*item);
}

base::Status open_wait(events::Log& log, Wait wait) {
    wait.id = log.ids().fresh<domain::WaitId>();
    wait.created_at = wait.updated_at = log.now();
    TRY(log.tx().put_wait(wait));
    return log.append(wait.agent_id, domain::events::WaitConditionCreated{wait});
}

std::optional<std::string> external_blocker(const WorkItem& item) {
    if (item.state == domain::WorkItemState::Completed || item.blocked_by == work::kBlockedByTask)
        return std::nullopt;
    return item.blocked_by;
}

bool needs_input(const WorkItem& item) {
    return item.state == domain::WorkItemState::Open &&
           item.plan_status == domain::PlanStatus::NeedsInput;
}

// Does the item, as it is now, still wait for this?
bool is_wanted(const Wait& wait, const WorkItem& item) {
    if (wait.kind == WaitKind::Operator) return needs_input(item);
    if (wait.kind == WaitKind::Task)
        return item.state == domain::WorkItemState::Open && item.blocked_by == work::kBlockedByTask;
    const auto blocker = external_blocker(item);
    return blocker && wait.waiting_for == base::ellipsize(*blocker, kWaitingForChars);
}

// Its waits are those that its record asks for.
base::Status follow_waits(events::Log& log, const WorkItem& item) {
    bool has_operator = false;
    bool has_external = false;
    for (auto& wait : TRY(log.tx().open_waits_of(item.id))) {
        if (!is_wanted(wait, item)) {
            TRY(queue::cancel_wait(log, std::move(wait)));
            continue;
        }
        has_operator |= wait.kind == WaitKind::Operator;
        has_external |= wait.kind == WaitKind::External;
    }
    const auto blocker = external_blocker(item);
    if (blocker && !has_external)
        TRY(open_wait(log, {.agent_id = item.agent_id,
                            .kind = WaitKind::External,
                            .waiting_for = base::ellipsize(*blocker, kWaitingForChars),
                            .work_item_id = item.id}));
    if (needs_input(item) && !has_operator)
        TRY(open_wait(log, {.agent_id = item.agent_id,
                            .kind = WaitKind::Operator,
                            .waiting_for = "your input for: " +
                                           base::ellipsize(item.objective, kWaitingForChars),
                            .work_item_id = item.id}));
    return {};
}

base::Status write(events::Log& log, const WorkItem& item, domain::events::WorkItemWritten event) {
    TRY(log.tx().put_work_item(item));
    event.record = base::to_json(item).as_object();
    TRY(log.append(item.agent_id, event));
    TRY(follow_waits(log, item));
    return follow_recheck(log, item);
}

base::Status release_focus(events::Log& log, domain::Agent& agent, const work::Changed& changed) {
    if (!changed.releases_focus || agent.current_work_item_id != changed.item.id) return {};
    agent.current_work_item_id.reset();
    return log.append(agent.agent_id,
                      domain::events::WorkItemFocusReleased{.agent_id = agent.agent_id,
                                                            .work_item_id = changed.item.id,
                                                            .reason = *changed.releases_focus,
                                                            .readiness = readiness_of(changed.item),
                                                            .revision = changed.item.revision});
}

// Tasks of the item that still run and that no wait was ever opened for. A wait that somebody
// cancelled is not opened again.
base::Result<std::vector<domain::Task>> tasks_to_wait_for(store::Tx& tx, const WorkItem& item) {
    std::vector<domain::Task> list;
    for (auto& task : TRY(tx.active_tasks(item.agent_id)))
        if (task.work_item_id == item.id && !TRY(tx.wait({"task:" + task.id.value})))
            list.push_back(std::move(task));
    return list;
}

base::Status wait_for_tasks(events::Log& log, const WorkItem& item,
                            const std::vector<domain::Task>& tasks) {
    for (const auto& task : tasks) {
        const Wait wait{.id = {"task:" + task.id.value},
                        .agent_id = item.agent_id,
                        .kind = WaitKind::Task,
                        .subject_ref = task.id.value,
                        .waiting_for = "the result of task " + task.id.value,
                        .created_at = log.now(),
                        .updated_at = log.now(),
                        .work_item_id = item.id};
        TRY(log.tx().put_wait(wait));
        TRY(log.append(item.agent_id, domain::events::WaitConditionCreated{wait}));
    }
    return {};
}

// As it is once this turn is over.
base::Result<json::object> closure_after(store::Tx& tx, const domain::Agent& agent,
                                         const domain::Attempt& attempt) {
    auto facts = TRY(identity::load_facts(tx, agent.agent_id));
    facts.agent = agent;
    facts.statistics.last_turn_terminal = attempt.terminal;
    if (agent.current_work_item_id)
        facts.current_work_item = TRY(tx.work_item(*agent.current_work_item_id));
    return base::to_json(identity::decide_closure(facts)).as_object();
}

domain::Brief no_progress_brief(const WorkItem& item) {
    return {.work_item_id = item.id,
            .kind = domain::BriefKind::Failure,
            .visibility = domain::BriefVisibility::ActionRequired,
            .text = fmt::format("Work on \"{0}\" is blocked: {1}. Say how to continue, then: holon "
                                "work unblock {2}",
                                base::ellipsize(base::collapse_whitespace(item.objective), 120),
                                item.blocked_by.value_or(""), item.id)};
}

}  // namespace

base::Result<WorkItem> create(events::Log& log, const work::NewItem& made) {
    if (const auto refusal = work::check(made)) return refused(*refusal);
    auto item = work::create(made, log.now());
    TRY(write(log, item, {.action = "created"}));
    return item;
}

base::Result<work::Changed> update(events::Log& log, domain::Agent& agent,
                                   const work::Update& change) {
    const auto before = TRY(open_item(log.tx(), agent.agent_id, change.id));
    if (const auto refusal = work::check(change)) return refused(*refusal);
    auto changed = work::update(before, change, log.now());
    if (!changed.is_written) return changed;
    domain::events::WorkItemWritten event{.action = "updated", .objective_changed = false};
    if (before.objective != changed.item.objective) {
        event.objective_changed = true;
        event.previous_objective = before.objective;
    }
    TRY(write(log, changed.item, std::move(event)));
    TRY(release_focus(log, agent, changed));
    return changed;
}

base::Result<work::Transition> pick(events::Log& log, domain::Agent& agent,
                                    const work::Pick& change) {
    const auto item = TRY(open_item(log.tx(), agent.agent_id, change.id));
    std::optional<WorkItem> previous;
    if (agent.current_work_item_id) previous = TRY(log.tx().work_item(*agent.current_work_item_id));
    auto moved = work::transition(previous, item, change.reason);
    agent.current_work_item_id = item.id;
    TRY(log.append(agent.agent_id, domain::events::WorkItemPicked{
                                       .agent_id = agent.agent_id,
                                       .previous_work_item_id = moved.previous_work_item_id,
                                       .current_work_item_id = moved.current_work_item_id,
                                       .reason = moved.reason,
                                       .previous_readiness = moved.previous_readiness,
                                       .current_readiness = moved.current_readiness,
                                       .switch_kind = moved.switch_kind,
                                       .current_focus_mode = moved.current_focus_mode}));
    return moved;
}

base::Result<work::Changed> complete(events::Log& log, domain::Agent& agent,
                                     const work::Complete& change) {
    const auto item = TRY(log.tx().work_item(change.id));
    if (!item || item->agent_id != agent.agent_id)
        return refused(*work::may_change(item, change.id, agent.agent_id));
    auto changed = work::complete(*item, change, log.now());
    if (!changed.is_written) return changed;
    TRY(write(log, changed.item, {.action = "completed"}));
    TRY(release_focus(log, agent, changed));
    return changed;
}

base::Status promote(events::Log& log, const work::Promote& report) {
    auto item = TRY(log.tx().work_item(report.id));
    if (!item || item->state != domain::WorkItemState::Completed) return {};
    item->result_summary = report.text;
    ++item->revision;
    item->updated_at = log.now();
    TRY(log.tx().put_work_item(*item));
    const domain::DeliverySummary summary{
        .id = log.ids().uuid(),
        .agent_id = item->agent_id,
        .work_item_id = item->id,
        .created_at = log.now(),
        .text = report.text,
        .source_turn_index = report.turn_index,
        .evidence = json::object{{"source", "same_round_complete_work_item"},
                                 {"source_turn_index", report.turn_index},
                                 {"source_round", report.round},
                                 {"warnings", json::array{}}}};
    TRY(log.tx().append_delivery_summary(summary));
    const std::string preview = base::ellipsize(report.text, kPreviewChars);
    TRY(log.append(item->agent_id, domain::events::WorkItemCompletionReportPromoted{
                                       .agent_id = item->agent_id,
                                       .work_item_id = item->id,
                                       .revision = item->revision,
                                       .source_turn_index = report.turn_index,
                                       .source_round = report.round,
                                       .text_preview = preview,
                                       .delivery_summary_id = summary.id,
                                       .brief_id = report.brief_id}));
    return log.append(item->agent_id, domain::events::WorkItemCompletionReportCandidatePromoted{
                                          .agent_id = item->agent_id,
                                          .work_item_id = item->id,
                                          .turn_index = report.turn_index,
                                          .round = report.round,
                                          .text_preview = preview});
}

base::Result<std::optional<domain::WorkItemId>> bind(store::Tx& tx, const domain::Agent& agent,
                                                     const domain::Message& message) {
    for (const auto& id : {message.work_item_id, agent.current_work_item_id}) {
        if (!id) continue;
        const auto item = TRY(tx.work_item(*id));
        if (!work::may_change(item, *id, agent.agent_id)) return id;
    }
    return std::nullopt;
}

base::Result<std::optional<domain::Brief>> end_turn(events::Log& log, domain::Agent& agent,
                                                    const domain::Attempt& attempt,
                                                    const domain::Message& message,
                                                    const EndInput& input) {
    if (!attempt.work_item_id || !attempt.terminal) return std::nullopt;
    auto& tx = log.tx();
    const auto item = TRY(tx.work_item(*attempt.work_item_id));
    if (!item) {
        TRY(log.append(agent.agent_id, domain::events::WorkItemTurnEndCommitSkipped{
                                           .agent_id = agent.agent_id,
                                           .turn_index = attempt.turn_index,
                                           .work_item_id = *attempt.work_item_id,
                                           .reason = "missing_bound_work_item"}));
        return std::nullopt;
    }
    work::Settled settled{.item = *item};
    std::vector<domain::Task> tasks;
    if (item->state == domain::WorkItemState::Open) {
        tasks = TRY(tasks_to_wait_for(tx, *item));
        settled =
            work::settle(*item,
                         {.is_completed = attempt.terminal->kind == domain::TerminalKind::Completed,
                          .was_started_for_it = is_work_tick(message),
                          .progress_digest = attempt.progress_digest.value_or(""),
                          .has_open_task = !tasks.empty(),
                          .plan_artifact = input.plan,
                          .turns_without_progress_max = input.turns_without_progress_max},
                         log.now());
    }
    if (settled.is_written)
        TRY(write(log, settled.item, {.action = "turn_end_committed"}));
    else if (settled.item != *item)
        TRY(tx.put_work_item(settled.item));
    if (settled.waits_for_task) TRY(wait_for_tasks(log, settled.item, tasks));
    std::optional<domain::Brief> brief;
    if (settled.lacks_progress) {
        if (agent.current_work_item_id == item->id) agent.current_work_item_id.reset();
        TRY(log.append(agent.agent_id, domain::events::WorkItemNoProgress{
                                           .agent_id = agent.agent_id,
                                           .work_item_id = item->id,
                                           .turns = settled.item.turns_without_progress,
                                           .blocked_by = settled.item.blocked_by.value_or("")}));
        brief = no_progress_brief(settled.item);
    }
    TRY(log.append(agent.agent_id, domain::events::WorkItemTurnEndCommitted{
                                       .agent_id = agent.agent_id,
                                       .turn_index = attempt.turn_index,
                                       .work_item_id = item->id,
                                       .committed_state = settled.item.state,
                                       .wrote_new_snapshot = settled.is_written,
                                       .plan_artifact_changed = settled.plan_changed,
                                       .work_item_state_changed = settled.item.state != item->state,
                                       .closure = TRY(closure_after(tx, agent, attempt))}));
    return brief;
}

}  // namespace work_items
