#include "flow/turn/remind.h"

#include <algorithm>

#include "base/text.h"
#include "domain/events/work.h"

namespace turn {
namespace {

constexpr std::size_t kPreviewChars = 240;

const AskModel* asked(const Step& step) {
    for (const auto& effect : step.effects)
        if (const auto* ask = std::get_if<AskModel>(&effect)) return ask;
    return nullptr;
}

}  // namespace

base::Status remind(store::Tx& tx, Step& step, const work::Settings& settings,
                    std::optional<std::int64_t> room) {
    const auto* ask = asked(step);
    const auto& focus = step.agent.current_work_item_id;
    if (!ask || !focus || !work::is_reminder_due(step.attempt, settings)) return {};
    const auto item = TRY(tx.work_item(*focus));
    if (!item || item->state != domain::WorkItemState::Open) return {};
    const std::int64_t rounds = step.attempt.rounds_without_work_update;
    auto text = work::reminder_text(*item, rounds, settings);
    if (room && static_cast<std::int64_t>(base::estimate_tokens(text)) > *room) {
        step.events.push_back(domain::events::WorkItemStaleReminderSkipped{
            .agent_id = step.agent.agent_id,
            .round = ask->round,
            .work_item_id = item->id,
            .plan_status = item->plan_status,
            .rounds_since_work_item_update = rounds,
            .cooldown_rounds = settings.reminder_cooldown_rounds,
            .reason = "baseline_budget"});
        return {};
    }
    step.events.push_back(domain::events::WorkItemStaleReminderInjected{
        .agent_id = step.agent.agent_id,
        .round = ask->round,
        .work_item_id = item->id,
        .plan_status = item->plan_status,
        .rounds_since_work_item_update = rounds,
        .cooldown_rounds = settings.reminder_cooldown_rounds,
        .text_preview = base::ellipsize(text, kPreviewChars)});
    work::count_reminder(step.attempt);
    step.reminder = std::move(text);
    return {};
}

json::object round_context(const Facts& facts, const SpecOf& spec_of) {
    const auto* round = std::get_if<domain::AwaitingTools>(&facts.attempt.state);
    const auto completions = std::ranges::count_if(facts.executions, [&](const auto& execution) {
        const auto* spec = spec_of(execution.call.tool);
        return spec && spec->completes_work_item;
    });
    return {{"has_report", round && !round->text.empty()}, {"completions", completions}};
}

}  // namespace turn
