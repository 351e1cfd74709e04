// The seam to durable facts: typed operations, grouped into transactions.
//
// Everything durable moves the same way: load, decide and write inside one function handed to
// write(); what the decision wants done in the world is done after write() says it is safe. The
// function sees a state nobody else is changing and either all of it happens or none.
//
// Two backends implement it (sql/sqlite, and PostgreSQL later); store/conformance.h is the promise
// both are held to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "domain/agent.h"
#include "domain/gate.h"
#include "domain/message.h"
#include "domain/plan.h"
#include "domain/record.h"
#include "domain/tool.h"
#include "domain/trigger.h"
#include "domain/turn.h"
#include "domain/waiting.h"

namespace store {

// Plans whose author is remembered.
inline constexpr std::int64_t kPlanOriginsMax = 2000;

using base::Result;
using base::Status;
using domain::AgentId;
using domain::MessageId;
using domain::RunId;
using domain::ToolCallId;

// What a commit survives. Process: this program dying at any moment. Disk: the machine losing
// power, too. Commits keep their order in both cases: a later one never survives an earlier one.
enum class Durability { Process, Disk };

struct Appended {
    std::int64_t seq{0};  // Arrival order over all messages of the agent.
};
struct AlreadyHave {
    MessageId message_id;  // The message that came first with this id or dedupe key.
};
using AppendOutcome = std::variant<Appended, AlreadyHave>;

struct QueuedMessage {
    domain::Message message;
    domain::QueueEntry entry;
};

// An effect that a commit asked for and that has not been reported back yet.
struct OutboxEntry {
    std::string effect_id;  // Stable: the same effect has the same id after a restart.
    AgentId agent_id;
    std::string kind;
    json::value payload;
    base::Time created_at{};
    friend bool operator==(const OutboxEntry&, const OutboxEntry&) = default;
};

// How much there is of what is going on, over all agents.
struct Counts {
    std::int64_t listed_agents{0};
    std::int64_t open_attempts{0};
    std::int64_t active_tasks{0};
    std::int64_t waiting_agents{0};  // With an open wait.
    friend bool operator==(const Counts&, const Counts&) = default;
};

// A bounded page of an agent's records, oldest first unless `newest_first`.
struct Page {
    std::int64_t after_seq{0};   // Only records behind this one (0: from the start).
    std::int64_t before_seq{0};  // Only records before this one (0: no bound).
    std::int64_t limit{128};
    bool newest_first{false};
};

template <class T>
struct Numbered {
    std::int64_t seq{0};
    T record;
};

// The operations of one transaction. Used only inside the function that got it, on its thread.
// A Conflict or NotFound from an operation is for that function to judge; returning an error from
// the function undoes the whole transaction.
class Tx {
public:
    virtual ~Tx() = default;

    // Agents -----------------------------------------------------------------------------------
    virtual Result<std::optional<domain::Agent>> agent(const AgentId& id) = 0;
    virtual Result<std::vector<AgentId>> agents(std::int64_t limit) = 0;  // By id.
    // Public ones that are not archived, by id, behind `after`.
    virtual Result<std::vector<AgentId>> listed_agents(const AgentId& after,
                                                       std::int64_t limit) = 0;
    virtual Result<Counts> counts() = 0;
    // Inserts or replaces the facts of one agent.
    virtual Status put_agent(const domain::Agent& agent) = 0;
    // Removes the agent and every row that belongs to it. Unknown agents are no error.
    virtual Status erase_agent(const AgentId& id) = 0;

    // Messages and their order -----------------------------------------------------------------
    // Stores the message and queues it behind all others of its agent and priority. A message id or
    // dedupe key that is already there changes nothing and names the first one.
    virtual Result<AppendOutcome> append_message(const domain::Message& message,
                                                 const std::optional<std::string>& dedupe_key) = 0;
    // The message that append_message() would name as AlreadyHave, or nothing.
    virtual Result<std::optional<MessageId>> known_message(
        const domain::Message& message, const std::optional<std::string>& dedupe_key) = 0;
    virtual Result<std::optional<QueuedMessage>> message(const MessageId& id) = 0;
    virtual Result<std::vector<Numbered<QueuedMessage>>> messages(const AgentId& agent,
                                                                  const Page& page) = 0;
    // The message to run next: highest priority, then oldest. Interrupted ones come before queued
    // ones of the same priority, because they were there first.
    virtual Result<std::optional<QueuedMessage>> next_message(const AgentId& agent) = 0;
    // Moves an entry. Claiming counts a try.
    virtual Status set_queue_status(const MessageId& id, domain::QueueStatus status,
                                    const std::optional<std::string>& reason, base::Time now) = 0;
    // Notes that no turn could be opened for the message, and returns how often that was so.
    virtual Result<std::int64_t> count_failure(const MessageId& id, const std::string& reason,
                                               base::Time now) = 0;
    // Messages that are queued or interrupted.
    virtual Result<std::int64_t> pending_count(const AgentId& agent) = 0;
    // Those of them with the priority Interject, oldest first.
    virtual Result<std::vector<QueuedMessage>> pending_interjections(const AgentId& agent,
                                                                     std::int64_t limit) = 0;
    // By id, behind `after`.
    virtual Result<std::vector<AgentId>> agents_with_pending(const AgentId& after,
                                                             std::int64_t limit) = 0;

    // Attempts ---------------------------------------------------------------------------------
    // Conflict when the agent already has an open one.
    virtual Status open_attempt(const domain::Attempt& attempt) = 0;
    virtual Status put_attempt(
        const domain::Attempt& attempt) = 0;  // NotFound unless opened before.
    virtual Result<std::optional<domain::Attempt>> attempt(const RunId& id) = 0;
    virtual Result<std::optional<domain::Attempt>> open_attempt_of(const AgentId& agent) = 0;
    virtual Result<std::vector<domain::Attempt>> open_attempts(std::int64_t limit) = 0;
    // By id, behind `after`.
    virtual Result<std::vector<AgentId>> agents_with_open_attempt(const AgentId& after,
                                                                  std::int64_t limit) = 0;
    // The prompt frame an attempt was opened with: kept apart, because it is large and never
    // changes.
    virtual Status put_frame(const RunId& id, const std::string& frame) = 0;
    virtual Result<std::optional<std::string>> frame(const RunId& id) = 0;

    // Tool calls and their results ---------------------------------------------------------------
    virtual Status put_tool_execution(
        const domain::ToolExecution& execution) = 0;  // Insert or replace.
    virtual Result<std::optional<domain::ToolExecution>> tool_execution(const ToolCallId& id) = 0;
    // The calls of one run in the order they were asked for; of one round when `round` is given.
    virtual Result<std::vector<domain::ToolExecution>> tool_executions(
        const RunId& run, std::optional<std::int64_t> round) = 0;

    // The record ---------------------------------------------------------------------------------
    // Appends to the agent's history and returns the event's number: the last one plus one.
    virtual Result<std::int64_t> append_event(const AgentId& agent, const domain::Event& event) = 0;
    virtual Result<std::vector<domain::Event>> events(const AgentId& agent, const Page& page) = 0;
    virtual Result<std::int64_t> last_event_seq(const AgentId& agent) = 0;
    virtual Status append_transcript(const domain::TranscriptEntry& entry) = 0;
    virtual Result<std::vector<Numbered<domain::TranscriptEntry>>> transcript(const AgentId& agent,
                                                                              const Page& page) = 0;
    // All entries about one message, over every attempt at it, oldest first.
    virtual Result<std::vector<domain::TranscriptEntry>> transcript_of(
        const MessageId& message) = 0;
    virtual Status append_brief(const domain::Brief& brief) = 0;
    virtual Result<std::vector<Numbered<domain::Brief>>> briefs(const AgentId& agent,
                                                                const Page& page) = 0;

    // Waits, timers, tasks -----------------------------------------------------------------------
    virtual Status put_wait(const domain::Wait& wait) = 0;
    virtual Result<std::optional<domain::Wait>> wait(const domain::WaitId& id) = 0;
    virtual Result<std::vector<domain::Wait>> open_waits(
        const AgentId& agent) = 0;  // Active or triggered.
    virtual Status put_timer(const domain::Timer& timer) = 0;
    virtual Result<std::optional<domain::Timer>> timer(const domain::TimerId& id) = 0;
    virtual Result<std::vector<domain::Timer>> active_timers(const AgentId& agent,
                                                             std::int64_t limit) = 0;
    virtual Result<std::int64_t> active_timer_count(const AgentId& agent) = 0;
    virtual Result<std::vector<domain::Timer>> timers(const AgentId& agent,
                                                      std::int64_t limit) = 0;  // Newest first.
    // Active timers of all agents whose next_fire_at is not after `now`, earliest first.
    virtual Result<std::vector<domain::Timer>> due_timers(base::Time now, std::int64_t limit) = 0;
    virtual Result<std::optional<base::Time>> next_due() = 0;
    virtual Status put_task(const domain::Task& task) = 0;
    virtual Result<std::optional<domain::Task>> task(const domain::TaskId& id) = 0;
    // Queued, running and cancelling ones.
    virtual Result<std::vector<domain::Task>> active_tasks(const AgentId& agent) = 0;
    virtual Result<std::vector<domain::Task>> tasks(const AgentId& agent,
                                                    std::int64_t limit) = 0;  // Newest first.
    virtual Result<std::vector<AgentId>> agents_with_active_tasks(std::int64_t limit) = 0;

    // Waking from outside ------------------------------------------------------------------------
    // Inserts or replaces. Conflict when the agent already has another active one.
    virtual Status put_trigger(const domain::ExternalTrigger& trigger) = 0;
    virtual Result<std::optional<domain::ExternalTrigger>> trigger_by_token(
        const std::string& token_hash) = 0;
    virtual Result<std::optional<domain::ExternalTrigger>> active_trigger(const AgentId& agent) = 0;
    virtual Result<std::vector<domain::ExternalTrigger>> triggers(
        const AgentId& agent, std::int64_t limit) = 0;  // Newest first.
    // The one hint that waits for the agent to be free.
    virtual Status put_wake_hint(const domain::WakeHint& hint) = 0;
    virtual Result<std::optional<domain::WakeHint>> wake_hint(const AgentId& agent) = 0;
    virtual Status erase_wake_hint(const AgentId& agent) = 0;
    virtual Result<std::vector<AgentId>> agents_with_wake_hint(const AgentId& after,
                                                               std::int64_t limit) = 0;

    // Workspaces known to this host --------------------------------------------------------------
    virtual Status put_workspace(const domain::WorkspaceEntry& entry) = 0;
    virtual Result<std::optional<domain::WorkspaceEntry>> workspace(const std::string& id) = 0;
    // Inserts or replaces, by the path of the worktree.
    virtual Status put_worktree(const domain::ManagedWorktree& worktree) = 0;
    virtual Result<std::optional<domain::ManagedWorktree>> worktree(const std::string& path) = 0;
    virtual Result<std::vector<domain::ManagedWorktree>> worktrees(
        const AgentId& agent, std::int64_t limit) = 0;  // Newest first.

    // Outbox -------------------------------------------------------------------------------------
    virtual Status put_outbox(
        const OutboxEntry& entry) = 0;  // The same effect_id again changes nothing.
    virtual Status erase_outbox(const std::string& effect_id) = 0;
    virtual Result<std::vector<OutboxEntry>> outbox(const AgentId& agent) = 0;  // Oldest first.

    // Plans --------------------------------------------------------------------------------------
    // Stores a new run and the plan it runs, which never changes. Conflict when the run is there.
    virtual Status add_plan_run(const domain::PlanRun& run, const std::string& plan) = 0;
    virtual Status put_plan_run(const domain::PlanRun& run) = 0;  // NotFound unless added before.
    virtual Result<std::optional<domain::PlanRun>> plan_run(const RunId& id) = 0;
    virtual Result<std::optional<std::string>> plan_document(const RunId& id) = 0;
    virtual Result<std::vector<domain::PlanRun>> plan_runs(
        std::int64_t limit) = 0;  // Newest first.
    // Those that have not ended.
    virtual Result<std::vector<domain::PlanRun>> open_plan_runs(std::int64_t limit) = 0;
    virtual Result<std::int64_t> plan_run_count() = 0;
    // Those that have, oldest first.
    virtual Result<std::vector<domain::PlanRun>> ended_plan_runs(std::int64_t limit) = 0;
    // From here on nobody finds the run; its rows are taken away bit by bit. Unknown: no error.
    virtual Status drop_plan_run(const RunId& id) = 0;
    // Takes away at most `limit` rows of the journals of dropped runs. True while there may be
    // more.
    virtual Result<bool> erase_dropped_plan_rows(std::int64_t limit) = 0;
    // Appends to the journal of a run. Conflict when one of the numbers is taken: another process
    // has gone on with the run, and nothing of this transaction may happen.
    virtual Status append_plan_records(const RunId& run,
                                       const std::vector<domain::PlanRecord>& records) = 0;
    // In order, those behind `after_seq`.
    virtual Result<std::vector<domain::PlanRecord>> plan_records(const RunId& run,
                                                                 std::int64_t after_seq,
                                                                 std::int64_t limit) = 0;
    // Who wrote the plan of this hash; the last word holds. Old ones beyond kPlanOriginsMax go.
    virtual Status put_plan_origin(const domain::PlanOrigin& origin) = 0;
    virtual Result<std::optional<domain::PlanOrigin>> plan_origin(const std::string& plan_hash) = 0;

    virtual Status put_plan_action(const domain::PlanAction& action) = 0;  // Insert or replace.
    virtual Status erase_plan_action(const std::string& name) = 0;         // Unknown: no error.
    virtual Result<std::optional<domain::PlanAction>> plan_action(const std::string& name) = 0;
    virtual Result<std::vector<domain::PlanAction>> plan_actions(
        std::int64_t limit) = 0;  // By name.

    // The gate -----------------------------------------------------------------------------------
    // Documents belong to their folders and outlive the agent that asked for them.
    virtual Status put_gate_document(
        const domain::GateDocument& document) = 0;  // Insert or replace.
    virtual Result<std::optional<domain::GateDocument>> gate_document(
        const std::string& document_id) = 0;
    // Newest first; those of one place when it is given.
    virtual Result<std::vector<domain::GateDocument>> gate_documents(
        std::optional<domain::GatePlace> place, std::int64_t limit) = 0;
};

using Work = std::move_only_function<Status(Tx&)>;

// One database. Any thread may call.
class Store {
public:
    virtual ~Store() = default;

    // Runs `work` alone, in order, and commits it. Returns when the commit is as durable as asked,
    // or with the error of `work` or of the commit; then nothing of it happened. Calls made at the
    // same time share one trip to the disk. `work` may run on another thread; exceptions it throws
    // undo it and come out of write().
    virtual Status write(Durability durability, Work work) = 0;

    // The same without blocking: `done` is called once, on some thread of the store or before
    // write_async() returns.
    virtual void write_async(Durability durability, Work work,
                             std::move_only_function<void(Status)> done) = 0;

    // Runs `work` on a consistent snapshot beside the writer. Its writes fail.
    virtual Status read(Work work) = 0;
};

}  // namespace store
