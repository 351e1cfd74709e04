// A turn as it is stored: a state machine that any process can resume where another left it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/provider.h"

namespace domain {

// The model has been asked for this round and has not answered yet.
struct Thinking {
    static constexpr std::string_view kTagKey = "state", kTag = "thinking";
    std::int64_t round{1};
    bool continues_text{false};  // The last round's text was cut off; this one continues it.
    friend bool operator==(const Thinking&, const Thinking&) = default;
};
// The provider is down, or its limit resets later than a retry may wait: the round is sent again at
// `until`.
struct Parked {
    static constexpr std::string_view kTagKey = "state", kTag = "parked";
    std::int64_t round{1};
    Time until{};
    bool continues_text{false};
    friend bool operator==(const Parked&, const Parked&) = default;
};
// The prompt of this round is made smaller before the model is asked.
struct Compacting {
    static constexpr std::string_view kTagKey = "state", kTag = "compacting";
    std::int64_t round{1};
    bool continues_text{false};
    bool is_forced{false};  // The provider refused the prompt as too long.
    std::int64_t exact_rounds{4};
    friend bool operator==(const Compacting&, const Compacting&) = default;
};
// The calls of this round are made one after the other; `next` is the one that is running.
struct AwaitingTools {
    static constexpr std::string_view kTagKey = "state", kTag = "awaiting_tools";
    std::int64_t round{1};
    std::vector<ToolCallId> calls{};
    std::int64_t next{0};
    std::string text{};  // What the round said to the operator besides its calls.
    friend bool operator==(const AwaitingTools&, const AwaitingTools&) = default;
};
// Final: how it ended is in the terminal record.
struct Closed {
    static constexpr std::string_view kTagKey = "state", kTag = "closed";
    friend bool operator==(const Closed&, const Closed&) = default;
};
BOOST_DESCRIBE_STRUCT(Thinking, (), (round, continues_text))
constexpr auto describe_fields(const Thinking*) {
    return std::to_array<base::FieldDoc>({{.field = "continues_text", .has_default = true}});
}
BOOST_DESCRIBE_STRUCT(Parked, (), (round, until, continues_text))
BOOST_DESCRIBE_STRUCT(Compacting, (), (round, continues_text, is_forced, exact_rounds))
BOOST_DESCRIBE_STRUCT(AwaitingTools, (), (round, calls, next, text))
constexpr auto describe_fields(const AwaitingTools*) {
    return std::to_array<base::FieldDoc>({{.field = "text", .has_default = true}});
}
BOOST_DESCRIBE_STRUCT(Closed, (), ())
using TurnState = std::variant<Thinking, Parked, Compacting, AwaitingTools, Closed>;

enum class TerminalKind { Completed, Aborted, BaselineOverBudget };
BOOST_DESCRIBE_ENUM(TerminalKind, Completed, Aborted, BaselineOverBudget)

// The reason of a turn that was interrupted on request and can be resumed.
inline constexpr std::string_view kReasonInterrupted = "interrupted";
// The reason of a turn that used up its rounds.
inline constexpr std::string_view kReasonRoundLimit = "max_turns_exceeded";
// The reasons of a turn that used up another of its budgets.
inline constexpr std::string_view kReasonTokenLimit = "max_turn_tokens_exceeded";
inline constexpr std::string_view kReasonTimeLimit = "max_turn_time_exceeded";
// The reason of a turn whose prompt could not be made to fit.
inline constexpr std::string_view kReasonCompactionFailed = "compaction_failed";
// The reason of a turn that its operator ended for good.
inline constexpr std::string_view kReasonAborted = "aborted_by_operator";

struct TurnTerminal {
    std::int64_t turn_index{0};
    TerminalKind kind{TerminalKind::Completed};
    std::optional<std::string> reason{};
    std::optional<std::string> last_assistant_message{};
    Time completed_at{};
    std::int64_t duration_ms{0};
    friend bool operator==(const TurnTerminal&, const TurnTerminal&) = default;
};
BOOST_DESCRIBE_STRUCT(TurnTerminal, (),
                      (turn_index, kind, reason, last_assistant_message, completed_at, duration_ms))

// What the model asked of the runtime in this turn besides tools that act on the world.
struct SleepRequest {
    std::string reason;
    std::optional<std::int64_t> duration_ms{};  // Absent: until something wakes the agent.
    friend bool operator==(const SleepRequest&, const SleepRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(SleepRequest, (), (reason, duration_ms))

// An agent that wakes itself so soon feeds itself: it counts as a follow-up.
inline constexpr std::int64_t kShortSleepMs = 60'000;
inline bool is_short(const SleepRequest& request) {
    return request.duration_ms && *request.duration_ms < kShortSleepMs;
}

// The transport that the operator's message came by, so that an answer can return the same way.
struct OperatorRoute {
    std::string binding_id;
    std::optional<std::string> reply_route_id{};
    friend bool operator==(const OperatorRoute&, const OperatorRoute&) = default;
};
BOOST_DESCRIBE_STRUCT(OperatorRoute, (), (binding_id, reply_route_id))

// One try at answering one message. An agent has at most one that is open.
struct Attempt {
    RunId run_id;
    AgentId agent_id;
    MessageId message_id;
    std::int64_t turn_index{0};
    TurnState state{};
    std::int64_t rounds_max{0};                // No request is made beyond it.
    std::optional<std::int64_t> tokens_max{};  // No further round once it has used as many.
    std::optional<Time> deadline{};            // It is ended then, whatever it is doing.
    bool is_aborted{false};                    // Its operator has aborted it.
    std::int64_t output_limit_recoveries{0};
    std::int64_t restarts{0};        // How often a process died while it executed a step of it.
    std::int64_t parks{0};           // How often it has waited for a provider's limit to reset.
    std::int64_t empty_answers{0};   // How often the model answered with nothing.
    std::int64_t unusable_calls{0};  // Calls returned as unreadable or of unknown tools.
    std::int64_t failed_passes{0};   // Passes over all candidates since the last reply.
    std::optional<Time> failing_since{};       // When the first of those passes failed.
    std::optional<WorkItemId> work_item_id{};  // The open item that the turn was begun for.
    std::optional<OperatorRoute> operator_route{};
    // Rounds with calls since a work item was written in this turn, and since a reminder of that.
    std::int64_t rounds_without_work_update{0};
    std::int64_t rounds_since_reminder{0};
    // A digest of the calls that changed something; absent while there was none.
    std::optional<std::string> progress_digest{};
    // How large the prompt is: as the provider last reported it, what was added since estimated.
    std::int64_t context_tokens{0};
    std::int64_t history_after{0};        // The conversation begins behind this transcript entry.
    std::int64_t compactions{0};          // Of this attempt.
    std::int64_t compacted_round{0};      // The last round before which there was one.
    std::int64_t compaction_failures{0};  // Since the last one that succeeded.
    std::string model_ref;
    TokenUsage token_usage{};
    std::optional<SleepRequest> sleep_request{};
    std::string last_assistant_message;
    Time opened_at{};
    std::optional<Time> closed_at{};
    std::optional<TurnTerminal> terminal{};
    friend bool operator==(const Attempt&, const Attempt&) = default;
};
BOOST_DESCRIBE_STRUCT(Attempt, (),
                      (run_id, agent_id, message_id, turn_index, state, rounds_max, tokens_max,
                       deadline, is_aborted, output_limit_recoveries, restarts, parks,
                       empty_answers, unusable_calls, failed_passes, failing_since, work_item_id,
                       operator_route, rounds_without_work_update, rounds_since_reminder,
                       progress_digest, context_tokens, history_after, compactions, compacted_round,
                       compaction_failures, model_ref, token_usage, sleep_request,
                       last_assistant_message, opened_at, closed_at, terminal))

constexpr auto describe_fields(const Attempt*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "parks", .has_default = true},
         {.field = "empty_answers", .has_default = true},
         {.field = "unusable_calls", .has_default = true},
         {.field = "failed_passes", .has_default = true},
         {.field = "rounds_without_work_update", .has_default = true},
         {.field = "rounds_since_reminder", .has_default = true},
         {.field = "is_aborted", .has_default = true},
         {.field = "context_tokens", .has_default = true},
         {.field = "history_after", .has_default = true},
         {.field = "compactions", .has_default = true},
         {.field = "compacted_round", .has_default = true},
         {.field = "compaction_failures", .has_default = true}});
}

enum class ClosureOutcome { Completed, Continuable, Failed, Waiting };
enum class WaitingReason {
    AwaitingOperatorInput,
    AwaitingExternalChange,
    AwaitingTaskResult,
    AwaitingTimer
};
enum class RuntimePosture { Awake, Sleeping };
BOOST_DESCRIBE_ENUM(ClosureOutcome, Completed, Continuable, Failed, Waiting)
BOOST_DESCRIBE_ENUM(WaitingReason, AwaitingOperatorInput, AwaitingExternalChange,
                    AwaitingTaskResult, AwaitingTimer)
BOOST_DESCRIBE_ENUM(RuntimePosture, Awake, Sleeping)

enum class ReactivationMode { ContinueActive, ActivateQueued };
enum class WorkSignalStatus { Active, Queued };
BOOST_DESCRIBE_ENUM(ReactivationMode, ContinueActive, ActivateQueued)
BOOST_DESCRIBE_ENUM(WorkSignalStatus, Active, Queued)
struct WorkSignal {
    WorkItemId work_item_id;
    WorkSignalStatus status{WorkSignalStatus::Active};
    ReactivationMode reactivation_mode{ReactivationMode::ContinueActive};
    friend bool operator==(const WorkSignal&, const WorkSignal&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkSignal, (), (work_item_id, status, reactivation_mode))

// Is the work finished, and if not, what would resume it? A view, computed from facts.
struct ClosureDecision {
    ClosureOutcome outcome{ClosureOutcome::Completed};
    std::optional<WaitingReason> waiting_reason{};
    std::optional<WorkSignal> work_signal{};
    RuntimePosture runtime_posture{RuntimePosture::Awake};
    std::vector<std::string> evidence{};
    friend bool operator==(const ClosureDecision&, const ClosureDecision&) = default;
};
BOOST_DESCRIBE_STRUCT(ClosureDecision, (),
                      (outcome, waiting_reason, work_signal, runtime_posture, evidence))

}  // namespace domain
