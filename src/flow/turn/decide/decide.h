// One turn as a state machine: a stored state and one event give the next state, what goes into the
// record, and what is to be done in the world. Pure: values in, values out.
//
//     Thinking --reply with calls--> AwaitingTools --last result--> Thinking (next round)
//     Thinking --reply without calls--> Closed          any --failure, interruption--> Closed
//     Thinking --provider down--> Parked --wait over--> Thinking (same round)
//     any --prompt too large for another round--> Compacting --done--> Thinking (same round)
//     Compacting --a summary is wanted, once--> Compacting
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/context/compaction.h"
#include "agent/work/reminder.h"
#include "domain/agent.h"
#include "domain/events/payload.h"
#include "domain/message.h"
#include "domain/tool.h"
#include "domain/turn.h"
#include "exec/tools/outcomes/outcomes.h"
#include "flow/turn/decide/mutations.h"
#include "provider/provider.h"

namespace turn {

// A turn that asks for more rounds is cut off. `--max-turns` can only lower it.
inline constexpr std::int64_t kRoundsMax = 1000;
// How often a text cut off by the output limit is continued.
inline constexpr std::int64_t kOutputLimitRecoveriesMax = 2;
// How often the program may die while it executes a turn before the turn is given up: one that
// kills the program each time would otherwise do so for ever. Counted in the store, across
// restarts.
inline constexpr std::int64_t kRestartsMax = 20;
inline constexpr std::int64_t kCallsPerRoundMax = 64;
// How often in one turn an answer without text and calls is asked for again.
inline constexpr std::int64_t kEmptyAnswersMax = 1;
// How many calls of one turn are returned as unreadable, as calls of unknown tools or with the
// wrong types, before the turn is given up.
inline constexpr std::int64_t kUnusableCallsMax = 32;
// How long, and how often in one turn, a provider's limit is waited for whose end is known.
inline constexpr std::chrono::hours kParkMax{24};
inline constexpr std::int64_t kParksMax = 20;

// A prompt that has grown to this many rounds since the last compaction may be compacted again.
inline constexpr std::int64_t kRoundsBetweenCompactions = 10;
// A turn is given up after so many compactions in a row that freed too little.
inline constexpr std::int64_t kCompactionFailuresMax = 2;
// How many of the newest rounds stay exact when a compaction has failed and the prompt is refused.
inline constexpr std::int64_t kExactRoundsStrict = 1;

// What the model of a turn can read, in tokens.
struct ContextLimits {
    std::int64_t prompt_budget{0};
    std::int64_t compaction_trigger{0};
    std::int64_t compaction_target{0};
    friend bool operator==(const ContextLimits&, const ContextLimits&) = default;
};

struct Facts {
    domain::Agent agent;
    domain::AgentStatistics statistics{};
    domain::Attempt attempt;
    domain::Message message;
    std::vector<domain::ToolExecution> executions{};  // Of the current round, in order.
    std::vector<domain::Message> interjections{};     // What the operator has said meanwhile.
    // Of a child: what it and those it shares a budget with may still use. Others spend it, too.
    std::optional<std::int64_t> delegated_tokens_left{};
};

struct RoundTiming {
    std::int64_t context_build_ms{0};
    base::Time started_at{};
    base::Time completed_at{};
};

// What a commit asks for.
struct AskModel {
    std::int64_t round{1};
    friend bool operator==(const AskModel&, const AskModel&) = default;
};
struct RunTool {
    domain::ToolCallId call_id;
    friend bool operator==(const RunTool&, const RunTool&) = default;
};
struct WaitUntil {
    std::int64_t round{1};
    base::Time until{};
    friend bool operator==(const WaitUntil&, const WaitUntil&) = default;
};
struct Compact {
    std::int64_t round{1};
    bool is_summary_tried{false};
    std::string summary{};  // What the model answered when it was asked for one.
    friend bool operator==(const Compact&, const Compact&) = default;
};
// Asks the model for a summary of what a compaction is about to cover.
struct Summarise {
    std::int64_t round{1};
    friend bool operator==(const Summarise&, const Summarise&) = default;
};
using Effect = std::variant<AskModel, RunTool, WaitUntil, Compact, Summarise>;

// What comes back from the world. Each names the round or call it belongs to, so that a late or
// repeated one is recognised and changes nothing.
struct ModelReplied {
    std::int64_t round{0};
    provider::Reply reply;
    std::vector<domain::ToolCall>
        calls{};  // One for each tool-use block, described by the dispatcher.
    RoundTiming timing{};
    provider::PromptCache cache{};  // Of the frame that was sent.
    bool is_summary{false};         // The answer to Summarise: no round of the turn.
};
struct ModelFailed {
    std::int64_t round{0};
    provider::Failure failure;
    RoundTiming timing{};
    bool is_summary{false};
};
struct ToolFinished {
    domain::ToolCallId call_id;
    tools::Dispatched dispatched;
};
// What becomes of the message of a turn that is stopped.
enum class StopKind {
    Interrupt,  // It waits until the agent is resumed.
    Abort,      // It is dropped: its operator wants no more of it.
    Limit,      // It has failed: a limit is reached.
};
// Somebody asked the turn to stop. `last` is how the call that was running ended.
struct Interrupted {
    std::string reason;
    std::optional<ToolFinished> last{};
    StopKind kind{StopKind::Interrupt};
};
// A new process found the turn open. `pending` is what the last commit asked for and nobody has
// reported, from the outbox. `unknown` stands for the call among it that may have touched the
// world; it is absent when that call can simply be made again.
struct Resumed {
    std::vector<Effect> pending{};
    std::optional<ToolFinished> unknown{};
    std::optional<std::int64_t> rounds_more{};  // At most this many further rounds.
};
// The time a parked turn waited for has come.
struct WaitOver {
    std::int64_t round{0};
};
// The smaller form of the conversation, ready to be recorded.
struct Compacted {
    std::int64_t round{0};
    context::Compaction compaction;
    bool is_summary_tried{false};
    std::string summary_fault{};  // Why the summary of the model was not used.
};
using Event = std::variant<ModelReplied, ModelFailed, ToolFinished, WaitOver, Compacted,
                           Interrupted, Resumed>;

struct Release {
    domain::QueueStatus status{domain::QueueStatus::Processed};
    std::optional<std::string> reason{};
    friend bool operator==(const Release&, const Release&) = default;
};

// Everything one commit writes, and the effects that follow it. Record entries get their ids and
// times where they are written.
struct Step {
    domain::Attempt attempt;
    domain::Agent agent;
    std::optional<domain::AgentStatistics> statistics{};  // Only when they have changed.
    std::vector<domain::ToolExecution> executions{};      // Changed ones.
    std::vector<domain::TranscriptEntry> transcript{};
    std::vector<EventDraft> events{};
    std::vector<domain::Brief> briefs{};
    std::vector<tools::Mutation> mutations{};  // What tools asked of the runtime, in order.
    std::optional<Release> release{};
    std::vector<domain::MessageId> interjected{};  // Taken into this turn.
    bool is_compacted{false};                      // The conversation is another one from here on.
    std::vector<Effect> effects{};
    // What only the provider reads, in the request that the effects ask for.
    std::string reminder{};

    bool closed() const { return std::holds_alternative<domain::Closed>(attempt.state); }
};

// What a tool declares of itself; null for a tool that does not exist.
using SpecOf = std::function<const tools::ToolSpec*(const std::string& tool)>;

// `now` is the time of the commit. `patience` is how long a turn waits for providers that are down.
struct Input {
    base::Time now{};
    SpecOf spec_of;
    std::chrono::milliseconds patience{0};
    work::Settings work{};
    std::optional<ContextLimits> limits{};  // Absent: no window is known.
    bool summarises{false};                 // A compaction asks the model for a summary.

    // May a call of this tool be made again after a crash? A call that is refused touches nothing.
    bool is_repeatable(const std::string& tool) const {
        const auto* spec = spec_of(tool);
        return !spec || spec->repeatable;
    }
};

Step decide(const Facts& facts, const Event& event, const Input& input);

// Whether the prompt of `attempt` must become smaller before the model is asked for `round`.
bool is_compaction_due(const domain::Attempt& attempt, std::int64_t round,
                       const std::optional<ContextLimits>& limits);

// Must the commit survive a power cut before its effects are performed? Yes when the turn is over,
// and when a call starts that must never silently run twice.
bool needs_disk(const Step& step, const Input& input);

}  // namespace turn
