#include "flow/turn/compaction/gather.h"

#include <algorithm>
#include <limits>
#include <set>

#include "agent/context/digest.h"
#include "base/text.h"
#include "flow/turn/apply.h"

namespace turn {
namespace {

constexpr std::size_t kAnchorLineChars = 200;
constexpr std::size_t kHandlesShown = 16;

std::string anchor_line(std::string_view text) {
    return base::ellipsize(base::collapse_whitespace(text), kAnchorLineChars);
}

// What the agent has in hand: its focus, and what may still come back to it.
base::Result<std::string> anchor_of(store::Tx& tx, const domain::Agent& agent) {
    std::string text;
    if (agent.current_work_item_id)
        if (const auto item = TRY(tx.work_item(*agent.current_work_item_id)))
            text += fmt::format("- focus: work item {} :: {}{}\n", item->id,
                                anchor_line(item->objective),
                                item->trust ? " (untrusted input asked for it)" : "");
    std::size_t shown = 0;
    for (const auto& task : TRY(tx.active_tasks(agent.agent_id))) {
        if (shown++ == kHandlesShown) break;
        text += fmt::format("- task {} is running\n", task.id);
    }
    shown = 0;
    for (const auto& wait : TRY(tx.open_waits(agent.agent_id))) {
        if (shown++ == kHandlesShown) break;
        text += fmt::format("- waiting for {}: {}\n", base::enum_name(wait.kind),
                            anchor_line(wait.waiting_for));
    }
    if (!text.empty()) text.pop_back();
    return text;
}

base::Result<std::vector<domain::ToolExecution>> executions_of(store::Tx& tx,
                                                               const context::Past& past) {
    std::set<domain::RunId> runs;
    for (const auto& piece : past.pieces)
        if (piece.kind == domain::TranscriptKind::ToolResults) runs.insert(piece.run_id);
    std::vector<domain::ToolExecution> list;
    for (const auto& run : runs)
        std::ranges::move(TRY(tx.tool_executions(run, std::nullopt)), std::back_inserter(list));
    return list;
}

// The target in estimated tokens. A provider that counts more than the estimate says gets as much
// less.
std::int64_t target_of(const domain::Attempt& attempt, const domain::Compacting& state,
                       std::int64_t estimated, const std::optional<ContextLimits>& limits) {
    std::int64_t target = limits ? limits->compaction_target : estimated / 2;
    if (state.is_forced) target = std::min(target, estimated / 2);
    if (estimated > 0 && attempt.context_tokens > estimated)
        target = target * estimated / attempt.context_tokens;
    return target;
}

}  // namespace

base::Result<context::Past> past_of(store::Tx& tx, const domain::Attempt& attempt) {
    return context::load_past(tx, attempt.agent_id,
                              {.message = attempt.message_id,
                               .after_seq = attempt.history_after,
                               .tokens_max = std::numeric_limits<std::int64_t>::max()});
}

base::Result<Compacted> gather(store::Tx& tx, const CompactionInput& input) {
    const auto facts = TRY(load(tx, input.run_id));
    const auto* state = std::get_if<domain::Compacting>(&facts.attempt.state);
    if (!state)
        return base::fail(base::ErrorCode::Conflict,
                          "another process has continued turn {} of agent {}; this process no "
                          "longer works on it",
                          input.run_id, input.agent_id);
    const auto past = TRY(past_of(tx, facts.attempt));
    const auto said = context::conversation_for(past, facts.message.id);
    return Compacted{
        .round = state->round,
        .compaction = context::compact(
            {.past = past,
             .message = facts.message.id,
             .is_message_trusted = context::is_trusted(facts.message),
             .executions = TRY(executions_of(tx, past)),
             .anchor = TRY(anchor_of(tx, facts.agent)),
             .fixed_tokens = input.fixed_tokens,
             .target_tokens =
                 target_of(facts.attempt, *state, input.fixed_tokens + said.tokens, input.limits),
             .exact_rounds = state->exact_rounds,
             .now = input.now})};
}

}  // namespace turn
