#include "flow/turn/compaction/compacting.h"

#include "agent/context/conversation.h"
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

void apply_compaction(Step& step, const Facts& facts, const domain::Compacting& state,
                      const context::Compaction& compaction) {
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
        .compression_epoch = compaction.epoch});
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
    else
        apply_compaction(step, facts, state, compacted.compaction);
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

// While the conversation is compacted, nothing is asked and no call is made.
Step on(const Facts& facts, const domain::Compacting&, const ModelReplied&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::Compacting&, const ModelFailed&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::Compacting&, const ToolFinished&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::Compacting&, const WaitOver&, const Input&) {
    return stay(facts);
}

}  // namespace turn
