#include "flow/turn/memory/remember.h"

#include <algorithm>

#include "agent/context/digest.h"
#include "agent/identity/closure.h"
#include "agent/identity/facts.h"
#include "agent/memory/working_memory.h"
#include "domain/events/memory.h"

namespace turn {
namespace {

constexpr std::int64_t kItemsLoaded = 8;
constexpr std::int64_t kBriefsLoaded = 8;

std::int64_t last_round(const domain::TurnState& state) {
    return std::visit(
        []<class T>(const T& at) -> std::int64_t {
            if constexpr (requires { at.round; })
                return at.round;
            else
                return 0;
        },
        state);
}

base::Result<std::vector<domain::ToolExecution>> calls_of(store::Tx& tx, const Facts& facts) {
    std::vector<domain::ToolExecution> list;
    const auto last = last_round(facts.attempt.state);
    for (auto round = std::max<std::int64_t>(1, last - kRoundsRemembered + 1); round <= last;
         ++round)
        std::ranges::move(TRY(tx.tool_executions(facts.attempt.run_id, round)),
                          std::back_inserter(list));
    return list;
}

// Results of turns that the operator or the runtime asked for.
base::Result<std::vector<domain::Brief>> results_of(store::Tx& tx, const domain::AgentId& agent) {
    std::vector<domain::Brief> list;
    for (auto& [seq, brief] :
         TRY(tx.briefs(agent, {.limit = kBriefsLoaded, .newest_first = true}))) {
        if (brief.kind != domain::BriefKind::Result || !brief.related_message_id) continue;
        const auto message = TRY(tx.message(*brief.related_message_id));
        if (message && context::is_trusted(message->message)) list.push_back(std::move(brief));
    }
    return list;
}

// Waiting for something that comes by itself: not for the operator's next prompt.
bool is_waiting(const identity::AgentFacts& facts) {
    if (facts.agent.sleep) return true;
    const auto closure = identity::decide_closure(facts);
    return closure.waiting_reason &&
           *closure.waiting_reason != domain::WaitingReason::AwaitingOperatorInput;
}

base::Result<memory::Evidence> evidence_of(events::Log& log, const Facts& facts, const Step& step,
                                           const SpecOf& spec_of) {
    auto& tx = log.tx();
    const auto& agent = step.agent;
    const auto now = TRY(identity::load_facts(tx, agent.agent_id));
    const auto& statistics = step.statistics ? *step.statistics : facts.statistics;
    memory::Evidence evidence{
        .turn_index = step.attempt.turn_index,
        .message_count = statistics.total_message_count,
        .now = log.now(),
        .workspace_id =
            agent.active_workspace_entry ? agent.active_workspace_entry->workspace_id : "",
        .message_kind = facts.message.kind,
        .was_waiting =
            statistics.last_continuation &&
            statistics.last_continuation->prior_closure_outcome == domain::ClosureOutcome::Waiting,
        .is_trusted = context::is_trusted(facts.message),
        .other_items =
            TRY(tx.work_items(agent.agent_id, {.open_only = true, .limit = kItemsLoaded})),
        .calls = TRY(calls_of(tx, facts)),
        .briefs = TRY(results_of(tx, agent.agent_id)),
        .waits = now.open_waits,
        .is_waiting = is_waiting(now)};
    if (now.current_work_item && now.current_work_item->state == domain::WorkItemState::Open)
        evidence.item = now.current_work_item;
    if (!evidence.item)
        for (const auto& item : evidence.other_items)
            if (item.blocked_by && !evidence.item) evidence.item = item;
    evidence.has_completed_item = std::ranges::any_of(evidence.calls, [&](const auto& call) {
        const auto* spec = spec_of(call.call.tool);
        return spec && spec->completes_work_item && call.result && call.result->ok;
    });
    return evidence;
}

}  // namespace

base::Status remember(events::Log& log, const Facts& facts, const Step& step,
                      const SpecOf& spec_of) {
    auto& tx = log.tx();
    const auto& agent = facts.agent.agent_id;
    const auto before = TRY(tx.working_memory(agent));
    auto settled = memory::settle(before, TRY(evidence_of(log, facts, step, spec_of)),
                                  "ep_" + log.ids().uuid());
    TRY(tx.put_working_memory(settled.memory));
    if (settled.delta)
        TRY(log.append(agent, domain::events::WorkingMemoryUpdated{
                                  .agent_id = agent,
                                  .revision = settled.memory.working_memory_revision,
                                  .reason = settled.delta->reason,
                                  .delta = *settled.delta,
                                  .turn_memory_delta = settled.turn}));
    if (!settled.episode) return {};
    const auto& episode = *settled.episode;
    TRY(tx.append_episode(episode));
    return log.append(agent, domain::events::EpisodeMemoryFinalized{
                                 .agent_id = agent,
                                 .episode_id = episode.id,
                                 .boundary_reason = episode.boundary_reason,
                                 .turn_range = {episode.start_turn_index, episode.end_turn_index},
                                 .work_item_id = episode.current_work_item_id});
}

}  // namespace turn
