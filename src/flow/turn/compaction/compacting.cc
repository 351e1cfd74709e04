#include "flow/turn/compaction/compacting.h"

#include "agent/context/conversation.h"
#include "agent/context/digest.h"
#include "base/text.h"
#include "domain/events/turn.h"
#include "flow/turn/decide/records.h"
#include "flow/turn/decide/settle.h"

namespace turn {
namespace {

std::int64_t tokens_in(const domain::TranscriptEntry& entry) {
    const auto piece = context::piece_of(0, entry);
    return piece ? piece->tokens : 0;
}

void ask_again(Step& step, const domain::Compacting& state) {
    step.attempt.state = domain::Thinking{state.round, state.continues_text};
    step.effects.push_back(AskModel{state.round});
}

// What became of the summary, for the record; absent where none was asked for.
std::optional<std::string> summary_word(const Compacted& compacted) {
    if (!compacted.is_summary_tried) return std::nullopt;
    if (compacted.summary_fault.empty()) return "accepted";
    return "not used: " + compacted.summary_fault;
}

// The oldest part is about to be covered, for the first time in this compaction, by a digest. Not
// in a turn that untrusted input asked for: its text would come back as a summary.
bool wants_summary(const Facts& facts, const Compacted& compacted, const Input& input) {
    return input.summarises && !compacted.is_summary_tried && compacted.compaction.entries > 0 &&
           context::is_trusted(facts.message);
}

void count_summary(Step& step, const Facts& facts, const std::optional<domain::TokenUsage>& usage) {
    if (!usage) return;
    step.attempt.token_usage = step.attempt.token_usage + *usage;
    auto& statistics = statistics_of(step, facts);
    statistics.total_input_tokens += usage->input_tokens;
    statistics.total_output_tokens += usage->output_tokens;
}

void apply_compaction(Step& step, const Facts& facts, const domain::Compacting& state,
                      const Compacted& compacted) {
    const auto& compaction = compacted.compaction;
    auto entry = continuation_entry(facts, state.round, "", context::kCompactionReason);
    entry.data = context::compaction_data(compaction, facts.message.id);
    step.transcript.push_back(std::move(entry));
    step.is_compacted = true;
    auto& attempt = step.attempt;
    ++attempt.compactions;
    attempt.compacted_round = state.round;
    attempt.compaction_failures = 0;
    // The provider's own count, made smaller by the share that the estimates say.
    if (compaction.tokens_before > 0)
        attempt.context_tokens =
            attempt.context_tokens * compaction.tokens_after / compaction.tokens_before;
    auto& statistics = statistics_of(step, facts);
    statistics.compacted_message_count += compaction.entries;
    statistics.compression_epoch = compaction.epoch;
    step.events.push_back(domain::events::TurnLocalCompactionApplied{
        .agent_id = facts.agent.agent_id,
        .run_id = facts.attempt.run_id,
        .round = state.round,
        .compacted_rounds = compaction.rounds,
        .exact_tail_rounds = state.exact_rounds,
        .compacted_entries = compaction.entries,
        .shortened_results = std::ssize(compaction.receipts),
        .covers_through = compaction.covers_through,
        .previous_estimated_tokens = compaction.tokens_before,
        .projected_estimated_tokens = compaction.tokens_after,
        .strict_fallback_applied = state.exact_rounds < context::kExactRounds,
        .compression_epoch = compaction.epoch,
        .summary = summary_word(compacted)});
    ask_again(step, state);
}

void reject_compaction(Step& step, const Facts& facts, const domain::Compacting& state,
                       const context::Compaction& compaction, const Input& input) {
    auto& attempt = step.attempt;
    ++attempt.compaction_failures;
    attempt.compacted_round = state.round;
    step.events.push_back(domain::events::TurnLocalCompactionFailed{
        .agent_id = facts.agent.agent_id,
        .run_id = facts.attempt.run_id,
        .round = state.round,
        .failures = attempt.compaction_failures,
        .previous_estimated_tokens = compaction.tokens_before,
        .projected_estimated_tokens = compaction.tokens_after});
    // A prompt that is large but within its budget may still be answered.
    const bool is_too_large =
        state.is_forced || !input.limits || attempt.context_tokens > input.limits->prompt_budget;
    if (is_too_large && attempt.compaction_failures >= kCompactionFailuresMax) {
        const std::string kind(state.is_forced
                                   ? base::enum_name(provider::FailureKind::ContextLengthExceeded)
                                   : domain::kReasonCompactionFailed);
        const domain::FailureArtifact artifact{
            .category = state.is_forced ? domain::FailureCategory::Protocol
                                        : domain::FailureCategory::Runtime,
            .kind = kind,
            .summary = fmt::format(
                "{}: the prompt of round {} has about {} tokens and could not be made small enough "
                "for {}. Use a model with a larger window, or split the task",
                kind, state.round, compaction.tokens_before, attempt.model_ref)};
        return give_up(step, facts, state.round, artifact, nullptr, artifact.kind, input.now);
    }
    if (!state.is_forced) return ask_again(step, state);
    // The same prompt would be refused again.
    auto strict = state;
    strict.exact_rounds = kExactRoundsStrict;
    attempt.state = strict;
    step.effects.push_back(Compact{state.round});
}

}  // namespace

bool is_compaction_due(const domain::Attempt& attempt, std::int64_t round,
                       const std::optional<ContextLimits>& limits) {
    if (!limits || attempt.context_tokens < limits->compaction_trigger) return false;
    return attempt.compacted_round == 0 ||
           round - attempt.compacted_round >= kRoundsBetweenCompactions;
}

void count_context(Step& step, const Event& event) {
    auto& tokens = step.attempt.context_tokens;
    const auto* replied = std::get_if<ModelReplied>(&event);
    for (const auto& entry : step.transcript) {
        const bool is_counted = entry.kind == domain::TranscriptKind::AssistantRound && replied &&
                                replied->reply.usage.has_value();
        if (is_counted)
            tokens = replied->reply.usage->input_tokens + replied->reply.usage->output_tokens;
        else
            tokens += tokens_in(entry);
    }
}

void compact_first(Step& step, const Facts& facts, const Event& event, const Input& input) {
    const auto* thinking = std::get_if<domain::Thinking>(&step.attempt.state);
    if (!thinking || std::holds_alternative<Compacted>(event)) return;
    const auto* before = std::get_if<domain::Thinking>(&facts.attempt.state);
    if (before && before->round == thinking->round) return;  // It was asked for already.
    const std::vector<Effect> asked{AskModel{thinking->round}};
    if (step.effects != asked || !is_compaction_due(step.attempt, thinking->round, input.limits))
        return;
    step.effects = {Compact{thinking->round}};
    step.attempt.state =
        domain::Compacting{.round = thinking->round, .continues_text = thinking->continues_text};
}

bool compact_refused(Step& step, const domain::Thinking& state) {
    if (step.attempt.compaction_failures >= kCompactionFailuresMax) return false;
    step.attempt.state = domain::Compacting{
        .round = state.round, .continues_text = state.continues_text, .is_forced = true};
    step.effects.push_back(Compact{state.round});
    return true;
}

Step on(const Facts& facts, const domain::Compacting& state, const Compacted& compacted,
        const Input& input) {
    Step step = stay(facts);
    if (compacted.round != state.round) return step;
    if (context::has_failed(compacted.compaction))
        reject_compaction(step, facts, state, compacted.compaction, input);
    else if (wants_summary(facts, compacted, input))
        step.effects.push_back(Summarise{state.round});
    else
        apply_compaction(step, facts, state, compacted);
    return step;
}

// A compaction that nobody waits for is a repetition.
Step on(const Facts& facts, const domain::Thinking&, const Compacted&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::Parked&, const Compacted&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::AwaitingTools&, const Compacted&, const Input&) {
    return stay(facts);
}

// While the conversation is compacted, nothing but a summary is asked for, once, and no call is
// made.
Step on(const Facts& facts, const domain::Compacting& state, const ModelReplied& replied,
        const Input&) {
    Step step = stay(facts);
    if (!replied.is_summary || replied.round != state.round) return step;
    count_summary(step, facts, usage_of(replied.reply));
    step.effects.push_back(Compact{.round = state.round,
                                   .is_summary_tried = true,
                                   .summary = summarize(replied.reply.blocks).text});
    return step;
}
Step on(const Facts& facts, const domain::Compacting& state, const ModelFailed& failed,
        const Input&) {
    Step step = stay(facts);
    if (!failed.is_summary || failed.round != state.round) return step;
    count_summary(step, facts, failed.failure.timeline.aggregated_token_usage);
    step.effects.push_back(Compact{.round = state.round, .is_summary_tried = true});
    return step;
}
Step on(const Facts& facts, const domain::Compacting&, const ToolFinished&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::Compacting&, const WaitOver&, const Input&) {
    return stay(facts);
}

}  // namespace turn
