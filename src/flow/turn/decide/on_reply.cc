// The model has spoken, or has not.
#include <array>

#include "base/text.h"
#include "domain/events/turn.h"
#include "flow/turn/compaction/compacting.h"
#include "flow/turn/decide/records.h"
#include "flow/turn/decide/settle.h"
#include "flow/turn/patience.h"

namespace turn {
namespace {

constexpr std::string_view kContinuePrompt =
    "Your last message was cut off by the output limit. Continue exactly where it ended.";
constexpr std::string_view kAnswerPrompt =
    "Your last message was empty. If the work is done, report the result; otherwise continue.";

bool hit_output_limit(std::string_view stop_reason) {
    return stop_reason == "max_tokens" || stop_reason == "max_output_tokens" ||
           stop_reason == "model_context_window_exceeded";
}

// A call cut off by the output limit may be half of what the model meant. Reading half is harmless;
// writing half is not, nor is half a command.
bool is_mutation(const domain::ToolCall& call, const Input& input) {
    const auto* spec = input.spec_of(call.tool);
    return call.risk_level != domain::RiskLevel::ReadOnly ||
           (spec && (spec->changes_files || spec->changes_records));
}

domain::ToolError truncated(const domain::ToolExecution& execution, const provider::Reply& reply) {
    return {.kind = "truncated_mutation_tool_call",
            .message = "The call was cut off by the output limit and was not made.",
            .details = json::object{{"tool_name", execution.call.tool},
                                    {"stop_reason", reply.stop_reason},
                                    {"round", execution.round}},
            .recovery_hint = "Send it again in smaller pieces.",
            .retryable = true};
}

std::vector<domain::ToolExecution> executions_of(const Facts& facts, const ModelReplied& replied) {
    CHECK(replied.calls.size() == summarize(replied.reply.blocks).tool_names.size(),
          "a reply brings one call for each tool-use block");
    std::vector<domain::ToolExecution> list;
    std::size_t call = 0;
    for (const auto& block : replied.reply.blocks) {
        const auto* use = std::get_if<domain::ToolUseBlock>(&block);
        if (!use) continue;
        list.push_back({.call = replied.calls[call],
                        .tool_use_id = use->id,
                        .turn_index = facts.attempt.turn_index,
                        .round = replied.round,
                        .ordinal = static_cast<std::int64_t>(call),
                        .trust = facts.message.trust});
        ++call;
    }
    return list;
}

void record_round(Step& step, const Facts& facts, const domain::Thinking& state,
                  const ModelReplied& replied) {
    const auto usage = usage_of(replied.reply);
    step.attempt.token_usage = step.attempt.token_usage + usage;
    auto& statistics = statistics_of(step, facts);
    statistics.total_input_tokens += usage.input_tokens;
    statistics.total_output_tokens += usage.output_tokens;
    ++statistics.total_model_rounds;
    const auto& asked = facts.attempt.model_ref;
    statistics.fallback_active = replied.reply.timeline.winning_model_ref.value_or(asked) != asked;
    const auto summary = summarize(replied.reply.blocks);
    if (state.continues_text)
        step.attempt.last_assistant_message += summary.text;
    else if (!summary.text.empty())
        step.attempt.last_assistant_message = summary.text;
    step.transcript.push_back(assistant_entry(facts, replied));
    step.events.push_back(round_completed(facts, replied));
    step.events.push_back(round_recorded(facts, replied));
}

struct Limit {
    std::string_view reason;
    std::string text;
};

// The limit that keeps the turn from another round, or nothing.
std::optional<Limit> reached(const domain::Attempt& attempt, std::int64_t round,
                             const std::optional<std::int64_t>& delegated_tokens_left) {
    if (round >= attempt.rounds_max)
        return Limit{
            domain::kReasonRoundLimit,
            fmt::format("the turn reached its limit of {} model rounds", attempt.rounds_max)};
    const auto used = attempt.token_usage.input_tokens + attempt.token_usage.output_tokens;
    if (attempt.tokens_max && used >= *attempt.tokens_max)
        return Limit{domain::kReasonTokenLimit,
                     fmt::format("the turn reached its limit of {} tokens", *attempt.tokens_max)};
    if (delegated_tokens_left && *delegated_tokens_left <= 0)
        return Limit{domain::kReasonTokenLimit,
                     "the child agents that share this budget have used up their tokens "
                     "(children.max_tree_tokens)"};
    return std::nullopt;
}

// Ends the turn because a limit is reached; the calls it still wanted are not made.
void end_at_limit(Step& step, const Facts& facts, std::vector<domain::ToolExecution> executions,
                  std::int64_t round, const Limit& limit, const Input& input) {
    finish_unmade_calls(step, executions, input, tools::not_made(limit.text));
    step.transcript.push_back(results_entry(facts, round, executions));
    const domain::FailureArtifact artifact{.category = domain::FailureCategory::Runtime,
                                           .kind = std::string(limit.reason),
                                           .summary = limit.text + " before it was done"};
    give_up(step, facts, round, artifact, nullptr, limit.reason, input.now);
}

void start_calls(Step& step, const Facts& facts, std::vector<domain::ToolExecution> executions,
                 const ModelReplied& replied, const Input& input) {
    for (std::size_t i = 0; i < executions.size(); ++i) {
        auto& execution = executions[i];
        if (i >= static_cast<std::size_t>(kCallsPerRoundMax)) {
            record_result(
                step, facts, execution,
                tools::without_running(
                    execution.call,
                    tools::not_made(fmt::format("a round may make {} calls", kCallsPerRoundMax)),
                    domain::ResultStatus::Error, input.now),
                input);
        } else if (hit_output_limit(replied.reply.stop_reason) &&
                   is_mutation(execution.call, input)) {
            const auto error = truncated(execution, replied.reply);
            step.events.push_back(truncated_call(execution, replied.reply.stop_reason, error));
            record_result(step, facts, execution,
                          tools::without_running(execution.call, error, domain::ResultStatus::Error,
                                                 input.now),
                          input);
        }
    }
    domain::AwaitingTools state{
        .round = replied.round,
        .text = std::string(base::trim(summarize(replied.reply.blocks).text))};
    for (const auto& execution : executions) state.calls.push_back(execution.call.call_id);
    while (state.next < static_cast<std::int64_t>(executions.size()) &&
           executions[static_cast<std::size_t>(state.next)].state == domain::CallState::Finished)
        ++state.next;
    for (auto& execution : executions) {
        if (execution.state == domain::CallState::Finished) continue;
        if (execution.ordinal == state.next)
            start_call(step, facts, execution, input);
        else
            step.executions.push_back(execution);
    }
    if (step.effects.empty()) {  // None of them may be made: back to the model at once.
        step.transcript.push_back(results_entry(facts, replied.round, executions));
        step.attempt.state = domain::Thinking{replied.round + 1};
        step.effects.push_back(AskModel{replied.round + 1});
        return;
    }
    step.attempt.state = std::move(state);
}

void count_usage(Step& step, const Facts& facts, const provider::Failure& failure) {
    if (!failure.timeline.aggregated_token_usage) return;
    const auto& usage = *failure.timeline.aggregated_token_usage;
    step.attempt.token_usage = step.attempt.token_usage + usage;
    auto& statistics = statistics_of(step, facts);
    statistics.total_input_tokens += usage.input_tokens;
    statistics.total_output_tokens += usage.output_tokens;
}

// The work is kept, not failed: the round is asked for again at a time that is part of the state.
void park(Step& step, const Facts& facts, const domain::Thinking& state,
          const provider::Failure& failure, std::chrono::milliseconds wait, base::Time now) {
    const base::Time until = now + wait;
    count_usage(step, facts, failure);
    if (is_known_limit(facts.attempt, failure)) {
        ++step.attempt.parks;
    } else {
        ++step.attempt.failed_passes;
        if (!step.attempt.failing_since) step.attempt.failing_since = now;
    }
    step.attempt.state = domain::Parked{state.round, until, state.continues_text};
    step.effects.push_back(WaitUntil{state.round, until});
    step.events.push_back(
        domain::events::TurnParked{.agent_id = facts.agent.agent_id,
                                   .run_id = facts.attempt.run_id,
                                   .message_id = facts.message.id,
                                   .round = state.round,
                                   .until = until,
                                   .reason = failure.message,
                                   .provider_attempt_timeline = failure.timeline});
}

// Asks once more for an answer that had neither text nor calls; a second one is reported.
void ask_again(Step& step, const Facts& facts, std::int64_t round, bool at_limit,
               const Input& input) {
    if (at_limit || facts.attempt.empty_answers >= kEmptyAnswersMax) {
        const domain::FailureArtifact artifact{
            .category = domain::FailureCategory::Protocol,
            .kind = "empty_answer",
            .summary = fmt::format("the model {} answered with nothing", facts.attempt.model_ref)};
        return give_up(step, facts, round, artifact, nullptr, artifact.kind, input.now);
    }
    ++step.attempt.empty_answers;
    step.transcript.push_back(continuation_entry(facts, round, kAnswerPrompt, "empty_answer"));
    step.attempt.state = domain::Thinking{round + 1};
    step.effects.push_back(AskModel{round + 1});
}

}  // namespace

Step on(const Facts& facts, const domain::Thinking& state, const ModelReplied& replied,
        const Input& input) {
    Step step = stay(facts);
    if (replied.round != state.round) return step;  // An answer to a question no longer asked.
    step.attempt.failed_passes = 0;
    step.attempt.failing_since.reset();
    record_round(step, facts, state, replied);
    auto executions = executions_of(facts, replied);
    auto left = facts.delegated_tokens_left;
    if (left) {
        const auto usage = usage_of(replied.reply);
        *left -= usage.input_tokens + usage.output_tokens;
    }
    const auto limit = reached(step.attempt, state.round, left);
    if (!executions.empty()) {
        if (limit)
            end_at_limit(step, facts, std::move(executions), state.round, *limit, input);
        else
            start_calls(step, facts, std::move(executions), replied, input);
        return step;
    }
    const bool cut_off = hit_output_limit(replied.reply.stop_reason);
    if (cut_off && facts.attempt.output_limit_recoveries < kOutputLimitRecoveriesMax && !limit) {
        ++step.attempt.output_limit_recoveries;
        step.transcript.push_back(
            continuation_entry(facts, state.round, kContinuePrompt, "max_output_tokens"));
        step.events.push_back(domain::events::MaxOutputTokensRecovery{
            .agent_id = facts.agent.agent_id, .attempt = step.attempt.output_limit_recoveries});
        step.attempt.state = domain::Thinking{state.round + 1, true};
        step.effects.push_back(AskModel{state.round + 1});
        return step;
    }
    const bool is_empty = base::trim(summarize(replied.reply.blocks).text).empty();
    if (is_empty && !state.continues_text)
        ask_again(step, facts, state.round, limit.has_value(), input);
    else
        complete(step, facts, input.now);
    return step;
}

Step on(const Facts& facts, const domain::Thinking& state, const ModelFailed& failed,
        const Input& input) {
    Step step = stay(facts);
    if (failed.round != state.round) return step;
    if (const auto wait = next_pass(facts.attempt, failed.failure, input)) {
        park(step, facts, state, failed.failure, *wait, input.now);
        return step;
    }
    auto artifact = failure_artifact(failed.failure, facts.attempt.model_ref);
    if (facts.attempt.failing_since)
        artifact.summary +=
            fmt::format(" (given up after {} s and {} passes)",
                        base::millis_between(*facts.attempt.failing_since, input.now) / 1000,
                        facts.attempt.failed_passes + 1);
    count_usage(step, facts, failed.failure);
    if (failed.failure.kind == provider::FailureKind::ContextLengthExceeded) {
        step.events.push_back(context_length_exceeded(facts, state.round, failed.failure));
        if (compact_refused(step, state)) return step;
    }
    give_up(step, facts, state.round, artifact, &failed.failure, artifact.kind, input.now);
    return step;
}

// While parked nothing is asked, so nothing can be answered.
Step on(const Facts& facts, const domain::Parked&, const ModelReplied&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::Parked&, const ModelFailed&, const Input&) {
    return stay(facts);
}

Step on(const Facts& facts, const domain::Parked& state, const WaitOver& over, const Input&) {
    Step step = stay(facts);
    if (over.round != state.round) return step;
    step.attempt.state = domain::Thinking{state.round, state.continues_text};
    step.effects.push_back(AskModel{state.round});
    step.events.push_back(domain::events::TurnWaitOver{
        .agent_id = facts.agent.agent_id, .run_id = facts.attempt.run_id, .round = state.round});
    return step;
}
Step on(const Facts& facts, const domain::Thinking&, const WaitOver&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::AwaitingTools&, const WaitOver&, const Input&) {
    return stay(facts);
}

// A reply while tools run belongs to a round that is already recorded.
Step on(const Facts& facts, const domain::AwaitingTools&, const ModelReplied&, const Input&) {
    return stay(facts);
}
Step on(const Facts& facts, const domain::AwaitingTools&, const ModelFailed&, const Input&) {
    return stay(facts);
}

}  // namespace turn
