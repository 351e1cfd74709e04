#include "flow/turn/compaction/gather.h"

#include <algorithm>
#include <limits>
#include <set>

#include "agent/context/digest.h"
#include "agent/context/summary/summary.h"
#include "base/text.h"
#include "exec/tools/seen.h"
#include "flow/turn/apply.h"

namespace turn {
namespace {

constexpr std::size_t kAnchorLineChars = 200;
constexpr std::size_t kHandlesShown = 16;
constexpr std::int64_t kPlanRunsRead = 256;
// The operator's words may fill this part of the window, and a compaction that the operator asks
// for aims at this part of the conversation.
constexpr std::int64_t kWordsShare = 3;
constexpr std::int64_t kIdleTargetShare = 3;

std::string anchor_line(std::string_view text) {
    return base::ellipsize(base::collapse_whitespace(text), kAnchorLineChars);
}

// A line that untrusted input may have written is named by its id alone.
base::Result<bool> is_ours(store::Tx& tx, const std::optional<domain::MessageId>& cause) {
    if (!cause) return true;
    const auto message = TRY(tx.message(*cause));
    return message && context::is_trusted(message->message);
}

base::Result<std::string> task_lines(store::Tx& tx, const domain::AgentId& agent) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& task : TRY(tx.active_tasks(agent))) {
        if (shown++ == kHandlesShown) break;
        text += fmt::format(
            "- {} {} is {}",
            task.kind == domain::TaskKind::ChildAgentTask ? "child agent, task" : "task", task.id,
            base::enum_name(task.status));
        if (task.summary && TRY(is_ours(tx, task.parent_message_id)))
            text += ": " + anchor_line(*task.summary);
        text += "\n";
    }
    return text;
}

// What the operator has not decided yet. Its text may be that of an external sender.
base::Result<std::string> approval_lines(store::Tx& tx, const domain::AgentId& agent) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& run : TRY(tx.open_plan_runs(kPlanRunsRead))) {
        if (run.status != domain::PlanRunStatus::AwaitingApproval || !run.owner ||
            run.owner->agent_id != agent || shown++ >= kHandlesShown)
            continue;
        text += fmt::format("- {} waits for the operator's approval\n", run.run_id);
    }
    return text;
}

// What the agent has in hand: its focus, and what may still come back to it.
base::Result<std::string> anchor_of(store::Tx& tx, const domain::Agent& agent) {
    std::string text;
    if (agent.current_work_item_id)
        if (const auto item = TRY(tx.work_item(*agent.current_work_item_id)))
            text += fmt::format("- focus: work item {} :: {}{}\n", item->id,
                                anchor_line(item->objective),
                                item->trust ? " (untrusted input asked for it)" : "");
    text += TRY(task_lines(tx, agent.agent_id));
    std::size_t shown = 0;
    for (const auto& wait : TRY(tx.open_waits(agent.agent_id))) {
        if (shown++ == kHandlesShown) break;
        text += fmt::format("- waiting for {}: {}\n", base::enum_name(wait.kind),
                            anchor_line(wait.waiting_for));
    }
    text += TRY(approval_lines(tx, agent.agent_id));
    if (!text.empty()) text.pop_back();
    return text;
}

base::Result<std::vector<domain::ToolExecution>> executions_of(store::Tx& tx,
                                                               const context::Past& past) {
    std::set<domain::RunId> runs;
    for (const auto& piece : past.pieces)
        if (piece->kind == domain::TranscriptKind::ToolResults) runs.insert(piece->run_id);
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

void use_summary(Compacted& out, const std::string& answer) {
    if (answer.empty()) {
        out.summary_fault = "the model gave none";
        return;
    }
    auto summary = context::check_summary(answer, out.compaction);
    if (!summary) {
        out.summary_fault = std::move(summary).error();
        return;
    }
    const auto text_tokens = [&] {
        return static_cast<std::int64_t>(
            base::estimate_tokens(context::compaction_text(out.compaction, {})));
    };
    const auto before = text_tokens();
    context::add_summary(out.compaction, std::move(*summary));
    out.compaction.tokens_after += text_tokens() - before;
}

}  // namespace

base::Result<context::Past> past_of(store::Tx& tx, const domain::Attempt& attempt) {
    return context::load_past(tx, attempt.agent_id,
                              {.message = attempt.message_id,
                               .after_seq = attempt.history_after,
                               .tokens_max = std::numeric_limits<std::int64_t>::max()});
}

base::Result<std::vector<context::KnownFile>> files_of(store::Tx& tx, const domain::RunId& run) {
    const auto facts = TRY(load(tx, run));
    return context::known_files(TRY(executions_of(tx, TRY(past_of(tx, facts.attempt)))));
}

base::Result<std::vector<context::KnownFile>> files_of_idle(store::Tx& tx,
                                                            const domain::AgentId& agent) {
    return context::known_files(TRY(executions_of(tx, TRY(context::load_past(tx, agent, {})))));
}

context::FilesNow read_files(const std::vector<context::KnownFile>& files) {
    context::FilesNow now;
    for (const auto& file : files) {
        auto hash = tools::content_hash(file.root, file.path);
        if (hash)
            now[context::absolute_path(file)] = std::move(*hash);
        else if (hash.error().code == base::ErrorCode::NotFound)
            now[context::absolute_path(file)] = std::nullopt;
    }
    return now;
}

base::Result<Compacted> prepare_compaction(store::Store& store, CompactionInput input) {
    std::vector<context::KnownFile> files;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        files = TRY(files_of(tx, input.run_id));
        return {};
    }));
    input.files_now = read_files(files);
    Compacted compacted;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        compacted = TRY(gather(tx, input));
        return {};
    }));
    return compacted;
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
    const auto target =
        target_of(facts.attempt, *state, input.fixed_tokens + said.tokens, input.limits);
    Compacted out{.round = state->round,
                  .compaction = context::compact(
                      {.past = past,
                       .message = facts.message.id,
                       .is_message_trusted = context::is_trusted(facts.message),
                       .executions = TRY(executions_of(tx, past)),
                       .files_now = input.files_now,
                       .anchor = TRY(anchor_of(tx, facts.agent)),
                       .fixed_tokens = input.fixed_tokens,
                       .target_tokens = target,
                       .exact_rounds = state->exact_rounds,
                       .words_tokens_max =
                           input.limits ? input.limits->prompt_budget / kWordsShare : target / 2,
                       .now = input.now}),
                  .is_summary_tried = input.is_summary_tried};
    if (input.is_summary_tried) use_summary(out, input.summary);
    return out;
}

base::Result<context::Compaction> gather_idle(store::Tx& tx, const domain::Agent& agent,
                                              const context::FilesNow& files_now, base::Time now) {
    const auto past = TRY(context::load_past(tx, agent.agent_id, {}));
    return context::compact(
        {.past = past,
         .executions = TRY(executions_of(tx, past)),
         .files_now = files_now,
         .anchor = TRY(anchor_of(tx, agent)),
         .target_tokens = context::conversation_for(past, {}).tokens / kIdleTargetShare,
         .now = now});
}

}  // namespace turn
