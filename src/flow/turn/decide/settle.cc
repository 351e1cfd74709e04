#include "flow/turn/decide/settle.h"

#include <algorithm>

#include "agent/skills/activation.h"
#include "base/hash.h"
#include "base/text.h"
#include "domain/events/turn.h"
#include "flow/turn/decide/records.h"
#include "flow/turn/decide/refusals.h"

namespace turn {
namespace {

// Whether the call was returned because of its form: no such tool, or arguments that do not fit.
bool is_unusable(const json::value& envelope) {
    const auto* error = base::find(envelope, "error");
    if (!error) return false;
    const auto* details = base::find(*error, "details");
    return base::string_at(*error, "kind") == "tool_not_exposed_for_round" ||
           (details && base::find(*details, "parse_error"));
}

// Did the successful call complete an open item?
bool completed_item(const domain::ToolExecution& execution, const tools::ToolSpec& spec) {
    if (!spec.completes_work_item || !execution.envelope) return false;
    const auto* result = base::find(*execution.envelope, "result");
    const auto* moved = result ? base::find(*result, "completed_transition") : nullptr;
    return moved && moved->is_bool() && moved->get_bool();
}

// A call that changed something may be progress; the same calls again are none.
void count_progress(domain::Attempt& attempt, const domain::ToolExecution& execution,
                    const tools::ToolSpec* spec) {
    if (!spec || spec->sleeps || !execution.result || !execution.result->ok) return;
    if (spec->risk == domain::RiskLevel::ReadOnly && !spec->changes_files && !spec->changes_records)
        return;
    attempt.progress_digest =
        base::sha256_hex(fmt::format("{}\n{}\n{}", attempt.progress_digest.value_or(""),
                                     execution.call.tool,
                                     base::canonical_json(execution.call.args)))
            .substr(0, 16);
}

}  // namespace

Step stay(const Facts& facts) {
    return {.attempt = facts.attempt, .agent = facts.agent};
}

domain::AgentStatistics& statistics_of(Step& step, const Facts& facts) {
    if (!step.statistics) step.statistics = facts.statistics;
    return *step.statistics;
}

void close(Step& step, const Facts& facts, domain::TerminalKind kind,
           std::optional<std::string> reason, base::Time now) {
    domain::TurnTerminal terminal{
        .turn_index = facts.attempt.turn_index,
        .kind = kind,
        .reason = std::move(reason),
        .completed_at = now,
        .duration_ms = base::millis_between(facts.attempt.opened_at, now)};
    if (!step.attempt.last_assistant_message.empty())
        terminal.last_assistant_message = step.attempt.last_assistant_message;
    step.attempt.state = domain::Closed{};
    step.attempt.closed_at = now;
    step.attempt.terminal = terminal;
    auto& statistics = statistics_of(step, facts);
    statistics.last_turn_terminal = terminal;
    statistics.total_turn_ms += terminal.duration_ms;
    // Of the latest turn whose usage the provider reported; one without says nothing about it.
    if (step.attempt.token_usage != domain::TokenUsage{})
        statistics.last_turn_token_usage = step.attempt.token_usage;
    step.events.push_back(domain::events::TurnTerminal{terminal, facts.attempt.run_id});
    step.effects.clear();
}

void complete(Step& step, const Facts& facts, base::Time now) {
    skills::promote(step.agent.active_skills);
    close(step, facts, domain::TerminalKind::Completed, std::nullopt, now);
    statistics_of(step, facts).last_runtime_failure.reset();
    step.briefs.push_back({.kind = domain::BriefKind::Result,
                           .text = step.attempt.last_assistant_message,
                           .related_message_id = facts.message.id});
    step.release = Release{domain::QueueStatus::Processed};
}

void give_up(Step& step, const Facts& facts, std::int64_t round,
             const domain::FailureArtifact& artifact, const provider::Failure* failure,
             std::string_view reason, base::Time now) {
    step.transcript.push_back(failure_entry(facts, round, artifact, failure));
    step.events.push_back(runtime_error(facts, artifact.summary, failure));
    close(step, facts, domain::TerminalKind::Aborted, std::string(reason), now);
    statistics_of(step, facts).last_runtime_failure =
        domain::RuntimeFailure{.occurred_at = now,
                               .summary = artifact.summary,
                               .phase = "runtime_turn",
                               .failure_artifact = artifact};
    step.briefs.push_back({.kind = domain::BriefKind::Failure,
                           .text = "The turn failed: " + artifact.summary,
                           .related_message_id = facts.message.id});
    step.release = Release{domain::QueueStatus::Processed, std::string(reason)};
}

void start_call(Step& step, const Facts& facts, domain::ToolExecution& execution,
                const Input& input) {
    execution.state = domain::CallState::Started;
    execution.started_at = input.now;
    step.executions.push_back(execution);
    step.effects.push_back(RunTool{execution.call.call_id});
    if (execution.call.risk_level == domain::RiskLevel::Commands)
        step.events.push_back(
            process_requested(facts, step.agent, execution, input.spec_of(execution.call.tool)));
}

void record_result(Step& step, const Facts& facts, domain::ToolExecution& execution,
                   const tools::Dispatched& dispatched, const Input& input) {
    execution.state = domain::CallState::Finished;
    execution.result = dispatched.result;
    execution.envelope = dispatched.envelope.to_json();
    execution.receipt = dispatched.receipt;
    execution.seen = dispatched.seen;
    step.executions.push_back(execution);
    if (is_unusable(*execution.envelope)) ++step.attempt.unusable_calls;
    count_progress(step.attempt, execution, input.spec_of(execution.call.tool));
    step.events.push_back(tool_event(facts, execution, input.spec_of(execution.call.tool)));
    record_refusal(step, facts, execution);
    for (const auto& denial : dispatched.denials)
        step.events.push_back(sandbox_denied(facts, execution, denial));
    if (const auto& tool = dispatched.result.tool; execution.started_at)
        domain::count_call(statistics_of(step, facts), tool, input.spec_of(tool) != nullptr,
                           dispatched.result.duration_ms);
    if (dispatched.mutations.empty()) return;
    Decided decided{step.agent,  step.attempt,  step.events, statistics_of(step, facts),
                    step.briefs, facts.message, input.now};
    for (const auto& mutation : dispatched.mutations) {
        if (const auto decide = rules_of(mutation).decide) decide(decided, mutation);
        step.mutations.push_back(mutation);
    }
}

void end_round(Step& step, const Facts& facts, const domain::AwaitingTools& round,
               const std::vector<domain::ToolExecution>& executions, const SpecOf& spec_of) {
    bool wrote_work = false;
    const domain::ToolExecution* completion = nullptr;
    std::int64_t completions = 0;
    for (const auto& execution : executions) {
        const auto* spec = spec_of(execution.call.tool);
        if (!spec || !execution.result || !execution.result->ok) continue;
        wrote_work |= spec->writes_work_items;
        if (!completed_item(execution, *spec)) continue;
        completion = &execution;
        ++completions;
    }
    work::count_round(step.attempt, wrote_work);
    if (completions != 1 || round.text.empty()) return;
    const domain::WorkItemId item{base::string_at(completion->call.args, "work_item_id")};
    const domain::BriefId brief{completion->call.call_id.value};
    step.mutations.push_back(work::Promote{.id = item,
                                           .text = round.text,
                                           .turn_index = facts.attempt.turn_index,
                                           .round = round.round,
                                           .brief_id = brief});
    step.briefs.push_back({.id = brief,
                           .work_item_id = item,
                           .kind = domain::BriefKind::Result,
                           .visibility = domain::BriefVisibility::WorkDone,
                           .text = round.text,
                           .related_message_id = facts.message.id});
}

void finish_unmade_calls(Step& step, std::vector<domain::ToolExecution>& executions,
                         const Input& input, const domain::ToolError& error) {
    for (auto& execution : executions) {
        if (execution.state == domain::CallState::Finished) continue;
        const auto dispatched =
            tools::without_running(execution.call, error, domain::ResultStatus::Skipped, input.now);
        execution.state = domain::CallState::Finished;
        execution.result = dispatched.result;
        execution.envelope = dispatched.envelope.to_json();
        execution.receipt = dispatched.receipt;
        step.executions.push_back(execution);
    }
}

}  // namespace turn
