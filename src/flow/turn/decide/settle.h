// How a turn ends, shared by every event that can end one.
#pragma once

#include <string>

#include "flow/turn/decide/decide.h"

namespace turn {

// A step that starts from the facts unchanged.
Step stay(const Facts& facts);

// The agent's statistics as the step leaves them, for a change. The reference holds as long as the
// step does.
domain::AgentStatistics& statistics_of(Step& step, const Facts& facts);

// Closes the attempt with its terminal record and events; the caller adds brief and release.
void close(Step& step, const Facts& facts, domain::TerminalKind kind,
           std::optional<std::string> reason, base::Time now);

// The turn is done: its last text is the result, the message is processed, a request to sleep is
// kept.
void complete(Step& step, const Facts& facts, base::Time now);

// The turn failed: brief, transcript entry and audit event say so, with the diagnostics there are.
void give_up(Step& step, const Facts& facts, std::int64_t round,
             const domain::FailureArtifact& artifact, const provider::Failure* failure,
             std::string_view reason, base::Time now);

// The round's calls that have no result yet get one that says they were not made.
void finish_unmade_calls(Step& step, std::vector<domain::ToolExecution>& executions,
                         const Input& input, const domain::ToolError& error);

// Every call of the round has its result: counts what that means for the turn's work, and keeps the
// round's text as the report of the one work item that it completed.
void end_round(Step& step, const Facts& facts, const domain::AwaitingTools& round,
               const std::vector<domain::ToolExecution>& executions, const SpecOf& spec_of);

// Marks the call as started and asks for it to be run; commands are announced with what they run.
void start_call(Step& step, const Facts& facts, domain::ToolExecution& execution,
                const Input& input);

// Records how a call ended: the execution, its event, the agent's latency figures, what it asked of
// the runtime.
void record_result(Step& step, const Facts& facts, domain::ToolExecution& execution,
                   const tools::Dispatched& dispatched, const Input& input);

Step on(const Facts& facts, const domain::Thinking& state, const ModelReplied& replied,
        const Input& input);
Step on(const Facts& facts, const domain::Thinking& state, const ModelFailed& failed,
        const Input& input);
Step on(const Facts& facts, const domain::Thinking& state, const ToolFinished& finished,
        const Input& input);
Step on(const Facts& facts, const domain::Thinking& state, const Interrupted& interrupted,
        const Input& input);
Step on(const Facts& facts, const domain::Thinking& state, const Resumed& resumed,
        const Input& input);
Step on(const Facts& facts, const domain::Thinking& state, const WaitOver& over,
        const Input& input);
Step on(const Facts& facts, const domain::Parked& state, const ModelReplied& replied,
        const Input& input);
Step on(const Facts& facts, const domain::Parked& state, const ModelFailed& failed,
        const Input& input);
Step on(const Facts& facts, const domain::Parked& state, const ToolFinished& finished,
        const Input& input);
Step on(const Facts& facts, const domain::Parked& state, const WaitOver& over, const Input& input);
Step on(const Facts& facts, const domain::Parked& state, const Interrupted& interrupted,
        const Input& input);
Step on(const Facts& facts, const domain::Parked& state, const Resumed& resumed,
        const Input& input);
Step on(const Facts& facts, const domain::Compacting& state, const ModelReplied& replied,
        const Input& input);
Step on(const Facts& facts, const domain::Compacting& state, const ModelFailed& failed,
        const Input& input);
Step on(const Facts& facts, const domain::Compacting& state, const ToolFinished& finished,
        const Input& input);
Step on(const Facts& facts, const domain::Compacting& state, const WaitOver& over,
        const Input& input);
Step on(const Facts& facts, const domain::Compacting& state, const Compacted& compacted,
        const Input& input);
Step on(const Facts& facts, const domain::Compacting& state, const Interrupted& interrupted,
        const Input& input);
Step on(const Facts& facts, const domain::Compacting& state, const Resumed& resumed,
        const Input& input);
Step on(const Facts& facts, const domain::Thinking& state, const Compacted& compacted,
        const Input& input);
Step on(const Facts& facts, const domain::Parked& state, const Compacted& compacted,
        const Input& input);
Step on(const Facts& facts, const domain::AwaitingTools& state, const Compacted& compacted,
        const Input& input);
Step on(const Facts& facts, const domain::AwaitingTools& state, const WaitOver& over,
        const Input& input);
Step on(const Facts& facts, const domain::AwaitingTools& state, const ModelReplied& replied,
        const Input& input);
Step on(const Facts& facts, const domain::AwaitingTools& state, const ModelFailed& failed,
        const Input& input);
Step on(const Facts& facts, const domain::AwaitingTools& state, const ToolFinished& finished,
        const Input& input);
Step on(const Facts& facts, const domain::AwaitingTools& state, const Interrupted& interrupted,
        const Input& input);
Step on(const Facts& facts, const domain::AwaitingTools& state, const Resumed& resumed,
        const Input& input);

}  // namespace turn
