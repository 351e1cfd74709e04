// The turn is stopped by an operator or the program, or found open by a new process.
#include <algorithm>

#include "domain/events/turn.h"
#include "flow/turn/decide/records.h"
#include "flow/turn/decide/settle.h"

namespace turn {
namespace {

void abort(Step& step, const Facts& facts, const std::string& reason, base::Time now) {
    close(step, facts, domain::TerminalKind::Aborted, std::string(domain::kReasonAborted), now);
    step.briefs.push_back({.kind = domain::BriefKind::Failure,
                           .text = "The turn was ended by its operator: " + reason,
                           .related_message_id = facts.message.id});
    step.release = Release{domain::QueueStatus::Dropped, reason};
}

void interrupt(Step& step, const Facts& facts, std::int64_t round, const Interrupted& asked,
               base::Time now) {
    if (asked.kind == StopKind::Limit) {
        const domain::FailureArtifact artifact{
            .category = domain::FailureCategory::Runtime,
            .kind = std::string(domain::kReasonTimeLimit),
            .summary = fmt::format("the turn reached its limit of {} ms before it was done",
                                   base::millis_between(facts.attempt.opened_at,
                                                        facts.attempt.deadline.value_or(now)))};
        return give_up(step, facts, round, artifact, nullptr, domain::kReasonTimeLimit, now);
    }
    step.events.push_back(processing_aborted(facts, asked.reason));
    if (asked.kind == StopKind::Abort) return abort(step, facts, asked.reason, now);
    close(step, facts, domain::TerminalKind::Aborted, std::string(domain::kReasonInterrupted), now);
    step.release = Release{domain::QueueStatus::Interrupted, asked.reason};
}

// The record must pair every call with a result before the conversation can continue. `last` is how
// the running call ended; without it that call, like those behind it, has not touched the world.
void pair_calls(Step& step, const Facts& facts, const domain::AwaitingTools& state,
                const std::optional<ToolFinished>& last, std::string_view why, const Input& input) {
    auto executions = facts.executions;
    const auto current = static_cast<std::size_t>(state.next);
    if (last && current < executions.size() && executions[current].call.call_id == last->call_id)
        record_result(step, facts, executions[current], last->dispatched, input);
    finish_unmade_calls(step, executions, input, tools::not_made(why));
    end_round(step, facts, state, executions, input.spec_of);
    step.transcript.push_back(results_entry(facts, state.round, executions));
}

void limit_rounds(domain::Attempt& attempt, std::int64_t rounds_done, const Resumed& resumed) {
    if (resumed.rounds_more)
        attempt.rounds_max = std::min(attempt.rounds_max, rounds_done + *resumed.rounds_more);
}

// Records that a new process resumes the turn. False when processes died of it too often and it is
// to be given up. The deaths are counted before anything of the turn is loaded
// (scheduler/recovery.h).
bool pick_up(Step& step, const Facts& facts, std::int64_t round) {
    step.events.push_back(domain::events::AttemptResumed{.agent_id = facts.agent.agent_id,
                                                         .run_id = facts.attempt.run_id,
                                                         .message_id = facts.message.id,
                                                         .round = round,
                                                         .restarts = step.attempt.restarts});
    return step.attempt.restarts <= kRestartsMax;
}

// The outbox says what was asked for last; the state alone says it for rows that lost it.
std::vector<Effect> pending_or(const Resumed& resumed, const Effect& from_state) {
    return resumed.pending.empty() ? std::vector{from_state} : resumed.pending;
}

void give_up_restarting(Step& step, const Facts& facts, std::int64_t round, base::Time now) {
    const domain::FailureArtifact artifact{
        .category = domain::FailureCategory::Runtime,
        .kind = "restarts_exhausted",
        .summary =
            fmt::format("the program died {} times while it executed this turn, and the turn "
                        "is not tried again",
                        facts.attempt.restarts)};
    give_up(step, facts, round, artifact, nullptr, artifact.kind, now);
}

}  // namespace

Step on(const Facts& facts, const domain::Thinking& state, const Interrupted& interrupted,
        const Input& input) {
    Step step = stay(facts);
    interrupt(step, facts, state.round, interrupted, input.now);
    return step;
}

Step on(const Facts& facts, const domain::Parked& state, const Interrupted& interrupted,
        const Input& input) {
    Step step = stay(facts);
    interrupt(step, facts, state.round, interrupted, input.now);
    return step;
}

Step on(const Facts& facts, const domain::Compacting& state, const Interrupted& interrupted,
        const Input& input) {
    Step step = stay(facts);
    interrupt(step, facts, state.round, interrupted, input.now);
    return step;
}

Step on(const Facts& facts, const domain::AwaitingTools& state, const Interrupted& interrupted,
        const Input& input) {
    Step step = stay(facts);
    pair_calls(step, facts, state, interrupted.last, "the turn was interrupted", input);
    interrupt(step, facts, state.round, interrupted, input.now);
    return step;
}

Step on(const Facts& facts, const domain::Thinking& state, const Resumed& resumed,
        const Input& input) {
    Step step = stay(facts);
    limit_rounds(step.attempt, state.round - 1, resumed);
    if (pick_up(step, facts, state.round))
        step.effects = pending_or(resumed, AskModel{state.round});
    else
        give_up_restarting(step, facts, state.round, input.now);
    return step;
}

Step on(const Facts& facts, const domain::Parked& state, const Resumed& resumed,
        const Input& input) {
    Step step = stay(facts);
    limit_rounds(step.attempt, state.round - 1, resumed);
    if (pick_up(step, facts, state.round))
        step.effects = pending_or(resumed, WaitUntil{state.round, state.until});
    else
        give_up_restarting(step, facts, state.round, input.now);
    return step;
}

Step on(const Facts& facts, const domain::Compacting& state, const Resumed& resumed,
        const Input& input) {
    Step step = stay(facts);
    limit_rounds(step.attempt, state.round - 1, resumed);
    if (pick_up(step, facts, state.round))
        step.effects = pending_or(resumed, Compact{state.round});
    else
        give_up_restarting(step, facts, state.round, input.now);
    return step;
}

Step on(const Facts& facts, const domain::AwaitingTools& state, const Resumed& resumed,
        const Input& input) {
    Step step = stay(facts);
    limit_rounds(step.attempt, state.round, resumed);
    if (!pick_up(step, facts, state.round)) {
        pair_calls(step, facts, state, resumed.unknown, "the turn was given up", input);
        give_up_restarting(step, facts, state.round, input.now);
        return step;
    }
    if (!resumed.unknown) {
        step.effects =
            pending_or(resumed, RunTool{state.calls.at(static_cast<std::size_t>(state.next))});
        return step;
    }
    Facts picked_up = facts;
    picked_up.attempt = step.attempt;
    Step next = on(picked_up, state, *resumed.unknown, input);
    next.events.insert(next.events.begin(), step.events.begin(), step.events.end());
    return next;
}

}  // namespace turn
