// What would resume an agent, when something must happen, and what runs in the background.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/labels.h"

namespace domain {

// A wait that has fired is consumed by the attempt that resumes the agent, never cancelled by
// another.
enum class WaitStatus { Active, Triggered, Resolved, Cancelled, Expired };
enum class WaitKind { Task, External, Operator, Timer, System };
BOOST_DESCRIBE_ENUM(WaitStatus, Active, Triggered, Resolved, Cancelled, Expired)
BOOST_DESCRIBE_ENUM(WaitKind, Task, External, Operator, Timer, System)

struct Wait {
    WaitId id;
    AgentId agent_id;
    WaitKind kind{WaitKind::Timer};
    WaitStatus status{WaitStatus::Active};
    std::optional<std::string> subject_ref{};  // The timer, task or trigger it waits for.
    std::string waiting_for;                   // For people.
    std::optional<MessageId> triggered_by{};
    std::optional<RunId> resolved_by{};
    std::optional<Time> expires_at{};
    Time created_at{};
    Time updated_at{};
    // The work item whose blocker it is. A delivery is noted on such a wait and leaves it active:
    // it ends by a call of the agent or the operator, by the end of its task, or by its time.
    std::optional<WorkItemId> work_item_id{};
    std::optional<Time> last_triggered_at{};
    std::optional<std::int64_t> trigger_count{};
    friend bool operator==(const Wait&, const Wait&) = default;
};
BOOST_DESCRIBE_STRUCT(Wait, (),
                      (id, agent_id, kind, status, subject_ref, waiting_for, triggered_by,
                       resolved_by, expires_at, created_at, updated_at, work_item_id,
                       last_triggered_at, trigger_count))

enum class TimerStatus { Active, Completed, Cancelled };
BOOST_DESCRIBE_ENUM(TimerStatus, Active, Completed, Cancelled)

struct Timer {
    TimerId id;
    AgentId agent_id;
    Time created_at{};
    std::int64_t duration_ms{0};
    std::optional<std::int64_t> interval_ms{};
    bool repeat{false};
    TimerStatus status{TimerStatus::Active};
    std::optional<std::string> summary{};
    std::optional<Time> next_fire_at{};
    std::optional<Time> last_fired_at{};
    std::int64_t fire_count{0};
    // The tick of its last fire: while that is still queued, a further fire adds none.
    std::optional<MessageId> last_tick_message_id{};
    std::optional<WaitId> wait_id{};  // The wait that expires when it fires.
    // Of its summary, where that is weaker than the operator's own word.
    std::optional<TrustLevel> trust{};
    std::optional<WorkItemId> work_item_id{};  // The blocked item it reminds the agent of.
    // Fires whenever the cron expression fits in this zone, instead of at an interval.
    std::optional<std::string> cron{};
    std::optional<std::string> time_zone{};
    friend bool operator==(const Timer&, const Timer&) = default;
};
BOOST_DESCRIBE_STRUCT(Timer, (),
                      (id, agent_id, created_at, duration_ms, interval_ms, repeat, status, summary,
                       next_fire_at, last_fired_at, fire_count, last_tick_message_id, wait_id,
                       trust, work_item_id, cron, time_zone))
constexpr auto describe_fields(const Timer*) {
    return std::to_array<base::FieldDoc>({{.field = "interval_ms", .null_when_absent = true},
                                          {.field = "summary", .null_when_absent = true},
                                          {.field = "next_fire_at", .null_when_absent = true},
                                          {.field = "last_fired_at", .null_when_absent = true}});
}

// SubagentTask and WorktreeSubagentTask are only read: an older program wrote them for children.
enum class TaskKind {
    CommandTask,
    ChildAgentTask,
    SleepJob,
    SubagentTask,
    WorktreeSubagentTask,
    PlanTask
};
enum class TaskStatus { Queued, Running, Cancelling, Completed, Failed, Cancelled, Interrupted };
BOOST_DESCRIBE_ENUM(TaskKind, CommandTask, ChildAgentTask, SleepJob, SubagentTask,
                    WorktreeSubagentTask, PlanTask)
BOOST_DESCRIBE_ENUM(TaskStatus, Queued, Running, Cancelling, Completed, Failed, Cancelled,
                    Interrupted)

// Is it over for good? An interrupted task is not: it is resumed.
constexpr bool is_terminal(TaskStatus status) {
    return status == TaskStatus::Completed || status == TaskStatus::Failed ||
           status == TaskStatus::Cancelled;
}

// Work that outlives the turn that started it.
struct Task {
    TaskId id;
    AgentId agent_id;
    TaskKind kind{TaskKind::CommandTask};
    TaskStatus status{TaskStatus::Queued};
    Time created_at{};
    Time updated_at{};
    std::optional<MessageId> parent_message_id{};
    std::optional<WorkItemId> work_item_id{};
    std::optional<std::string> summary{};
    std::optional<json::value> detail{};
    std::optional<json::value> recovery{};  // What a new process needs to resume it.
    friend bool operator==(const Task&, const Task&) = default;
};
BOOST_DESCRIBE_STRUCT(Task, (),
                      (id, agent_id, kind, status, created_at, updated_at, parent_message_id,
                       work_item_id, summary, detail, recovery))
constexpr auto describe_fields(const Task*) {
    return std::to_array<base::FieldDoc>({{.field = "parent_message_id", .null_when_absent = true},
                                          {.field = "summary", .null_when_absent = true},
                                          {.field = "detail", .null_when_absent = true},
                                          {.field = "recovery", .null_when_absent = true}});
}

}  // namespace domain
