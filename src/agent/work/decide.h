// What may be worked on, what a call changes, and what an idle agent continues with. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "domain/turn.h"
#include "domain/waiting.h"
#include "domain/work.h"

namespace work {

// Bounds of what a caller may write. A longer value is refused, never cut.
inline constexpr std::size_t kObjectiveCharsMax = 8'000;
inline constexpr std::size_t kBlockerCharsMax = 4'000;
inline constexpr std::size_t kTodosMax = 200;
inline constexpr std::size_t kTodoCharsMax = 2'000;
// A blocker that names no time is checked again after this long.
inline constexpr std::chrono::milliseconds kRecheckDefault{3'600'000};
inline constexpr std::int64_t kRecheckMsMax = 31'536'000'000;  // A year.
// So many turns in a row may be started for an item without material progress before it is
// blocked: runtime.max_turns_without_progress.
inline constexpr std::int64_t kTurnsWithoutProgressMax = 3;

// What the runtime itself writes as a blocker. It removes only what it wrote.
inline constexpr std::string_view kBlockedByTask = "waiting for the result of a task";

// Readiness --------------------------------------------------------------------------------------

enum class SchedulingState {
    Runnable,
    WaitingOperator,
    WaitingTask,
    WaitingExternal,
    Blocked,
    Completed
};
BOOST_DESCRIBE_ENUM(SchedulingState, Runnable, WaitingOperator, WaitingTask, WaitingExternal,
                    Blocked, Completed)

// Which kinds of waits of an item are active.
struct ActiveWaits {
    bool task{false};
    bool external{false};
};
ActiveWaits active_waits(const domain::WorkItemId& item, const std::vector<domain::Wait>& waits);

// The first that applies: completed, waiting for the operator, for a task, for an external change,
// blocked, runnable.
SchedulingState scheduling_state(const domain::WorkItem& item, ActiveWaits waits);

// The label that clients and models read.
domain::WorkReadiness label_of(SchedulingState state);

enum class Focus { Current, Queued, Blocked, Completed };
BOOST_DESCRIBE_ENUM(Focus, Current, Queued, Blocked, Completed)
Focus focus_of(const domain::WorkItem& item, bool is_current);

// Changes ----------------------------------------------------------------------------------------

struct NewItem {
    domain::WorkItemId id;
    domain::AgentId agent_id;
    std::string workspace_id;
    std::string objective;
    domain::PlanStatus plan_status{domain::PlanStatus::Draft};
    std::vector<domain::TodoItem> todo_list{};
    std::optional<domain::PlanArtifact> plan_artifact{};
    // Of the sender that asked for it. A weaker one than the runtime's own is kept with the item.
    std::optional<domain::TrustLevel> trust{};
    friend bool operator==(const NewItem&, const NewItem&) = default;
};
domain::WorkItem create(const NewItem& made, base::Time now);

// What an absent member leaves as it is.
struct Update {
    domain::WorkItemId id;
    std::optional<std::string> objective{};
    std::optional<domain::PlanStatus> plan_status{};
    std::optional<std::vector<domain::TodoItem>> todo_list{};
    std::optional<std::string> blocked_by{};         // Empty text clears it.
    std::optional<std::int64_t> recheck_after_ms{};  // Only with a new blocker.
    std::optional<domain::PlanArtifact> plan_artifact{};
    std::optional<domain::TrustLevel> trust{};
    friend bool operator==(const Update&, const Update&) = default;
};
struct Complete {
    domain::WorkItemId id;
    std::optional<domain::PlanArtifact> plan_artifact{};
    friend bool operator==(const Complete&, const Complete&) = default;
};
struct Pick {
    domain::WorkItemId id;
    std::optional<std::string> reason{};
    friend bool operator==(const Pick&, const Pick&) = default;
};

// The same-round report of a completed item, promoted to its result.
struct Promote {
    domain::WorkItemId id;
    std::string text;
    std::int64_t turn_index{0};
    std::int64_t round{0};
    domain::BriefId brief_id;
    friend bool operator==(const Promote&, const Promote&) = default;
};
// The names that models call the four tools by which they write work items.
inline constexpr std::string_view kCreateTool = "CreateWorkItem";
inline constexpr std::string_view kPickTool = "PickWorkItem";
inline constexpr std::string_view kUpdateTool = "UpdateWorkItem";
inline constexpr std::string_view kCompleteTool = "CompleteWorkItem";

// The item after a change. Nothing was written when it is as it was.
struct Changed {
    domain::WorkItem item;
    bool is_written{false};
    // Why the agent's focus leaves the item, if it does: work_item_blocked, work_item_needs_input,
    // work_item_completed.
    std::optional<std::string> releases_focus{};
};
// `item` is open.
Changed update(domain::WorkItem item, const Update& change, base::Time now);
// An item that is completed already stays as it is.
Changed complete(domain::WorkItem item, const Complete& change, base::Time now);

// Why a caller may not change an item.
struct Refusal {
    std::string kind;  // unknown_work_item, work_item_completed, invalid_tool_input
    base::ErrorCode code{base::ErrorCode::InvalidInput};
    std::string message;
    std::string field{};
    friend bool operator==(const Refusal&, const Refusal&) = default;
};
// Nothing when `item` exists, belongs to `agent` and is open.
std::optional<Refusal> may_change(const std::optional<domain::WorkItem>& item,
                                  const domain::WorkItemId& id, const domain::AgentId& agent);
// Nothing when the values are within their bounds.
std::optional<Refusal> check(const NewItem& made);
std::optional<Refusal> check(const Update& change);

// How focus moves when an item is picked.
struct Transition {
    std::optional<domain::WorkItemId> previous_work_item_id{};
    domain::WorkItemId current_work_item_id;
    std::optional<std::string> reason{};
    std::optional<domain::WorkReadiness> previous_readiness{};
    domain::WorkReadiness current_readiness{domain::WorkReadiness::Runnable};
    std::string switch_kind;         // same_work_item, explicit_focus_override, explicit_focus_pick
    std::string current_focus_mode;  // runnable, inspection
    bool lacks_reason{false};        // Focus left a runnable item, and nobody said why.
};
Transition transition(const std::optional<domain::WorkItem>& previous,
                      const domain::WorkItem& picked, const std::optional<std::string>& reason);

// Activation -------------------------------------------------------------------------------------

// What an idle agent has. `current` is its focus, `queued` the runnable item that was changed least
// recently, without the focus.
struct Queue {
    std::optional<domain::WorkItem> current{};
    std::optional<domain::WorkItem> queued{};
    // Since when items as they were must not wake it: it sleeps until a time, or its last turn
    // failed. An item that changed later does.
    std::optional<base::Time> held_since{};
};
// What the agent continues with by itself; nothing when it stays idle.
std::optional<domain::WorkSignal> activation(const Queue& queue);

// Is its reminder to fire now?
bool is_recheck_due(const domain::WorkItem& item, base::Time now);
// The item after its reminder fired: still blocked.
domain::WorkItem consume_recheck(domain::WorkItem item, base::Time now);

// The end of a turn ------------------------------------------------------------------------------

struct TurnEnd {
    bool is_completed{false};        // The turn ended by itself, not as a failure.
    bool was_started_for_it{false};  // By the runtime, to have the item worked on.
    // What the turn did that may be progress, in short; empty when it did nothing of the kind.
    std::string progress_digest;
    bool has_open_task{false};  // A task of the item runs that nobody waits for yet.
    std::optional<domain::PlanArtifact> plan_artifact{};  // As the file is now.
    std::int64_t turns_without_progress_max{kTurnsWithoutProgressMax};
};
struct Settled {
    domain::WorkItem item;
    bool is_written{false};
    bool plan_changed{false};
    bool waits_for_task{false};  // The runtime has blocked it: a task has to end first.
    bool lacks_progress{false};  // The runtime has blocked it: it led nowhere.
};
// What the end of a turn means for the open item that the turn was begun for. It never completes
// the item, and it leaves alone what the turn itself has blocked.
Settled settle(domain::WorkItem item, const TurnEnd& end, base::Time now);

}  // namespace work
