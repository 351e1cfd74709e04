// The operations of store::Tx over any SQL engine, written once.
//
// The files group them as store.h does: agents.cc, queue.cc, attempts.cc, record.cc, waiting.cc,
// outside.cc, work.cc, notifications.cc, plans.cc, gate.cc, retention.cc, bodies.cc.
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "store/sql/bodies.h"
#include "store/sql/codec.h"
#include "store/sql/connection.h"
#include "store/sql/read_once.h"
#include "store/store.h"

namespace sql {

// More rows than this in a list that has no page is an error, never a silent cut.
inline constexpr std::int64_t kListRowsMax = 16'384;

// Lives no longer than the transaction its connection is in. With Access::Read every operation that
// would change something is Refused before it reaches the engine.
class SqlTx final : public store::Tx {
public:
    SqlTx(Connection& connection, Access access, store::Durability durability)
        : connection_(connection), access_(access), durability_(durability) {}

    void require(store::Durability durability) override {
        durability_ = std::max(durability_, durability);
    }
    store::Durability durability() const override { return durability_; }
    // The error of the first change that failed: nothing of this transaction may be committed.
    const std::optional<base::Error>& doomed() const { return doomed_; }
    // Writes what the transaction kept back: the last number of each stream that it gave out.
    // Called once, when its work succeeded.
    Status settle();

    Result<std::optional<domain::Agent>> agent(const domain::AgentId& id) override;
    Result<std::vector<domain::AgentId>> agents(const domain::AgentId& after,
                                                std::int64_t limit) override;
    Result<std::vector<domain::AgentId>> listed_agents(const domain::AgentId& after,
                                                       std::int64_t limit) override;
    Result<store::Counts> counts() override;
    Status put_agent(const domain::Agent& agent) override;
    Result<domain::AgentStatistics> statistics(const domain::AgentId& agent) override;
    Status put_statistics(const domain::AgentStatistics& statistics) override;
    Result<std::optional<domain::AgentFault>> fault(const domain::AgentId& agent) override;
    Status put_fault(const domain::AgentFault& fault) override;
    Status erase_fault(const domain::AgentId& agent) override;
    Result<std::vector<domain::AgentId>> agents_set_aside(std::int64_t limit) override;
    Status probe_write(base::Time now) override;
    Status erase_agent(const domain::AgentId& id) override;

    Result<std::optional<store::MessageId>> known_message(
        const domain::Message& message, const std::optional<std::string>& dedupe_key) override;
    Result<store::AppendOutcome> append_message(
        const domain::Message& message, const std::optional<std::string>& dedupe_key) override;
    Result<std::optional<store::QueuedMessage>> message(const domain::MessageId& id) override;
    Result<std::vector<store::Numbered<store::QueuedMessage>>> messages(
        const domain::AgentId& agent, const store::Page& page) override;
    Result<std::optional<store::QueuedMessage>> next_message(const domain::AgentId& agent) override;
    Status set_queue_status(const domain::MessageId& id, domain::QueueStatus status,
                            const std::optional<std::string>& reason, base::Time now) override;
    Result<std::int64_t> count_failure(const domain::MessageId& id, const std::string& reason,
                                       base::Time now) override;
    Result<std::int64_t> pending_count(const domain::AgentId& agent) override;
    Result<std::int64_t> pending_count_of(const domain::AgentId& agent,
                                          const std::string& sender) override;
    Result<std::vector<store::QueuedMessage>> pending_interjections(const domain::AgentId& agent,
                                                                    std::int64_t limit) override;
    Result<std::vector<domain::AgentId>> agents_with_pending(const domain::AgentId& after,
                                                             std::int64_t limit) override;

    Status open_attempt(const domain::Attempt& attempt) override;
    Status put_attempt(const domain::Attempt& attempt) override;
    Result<std::optional<domain::Attempt>> attempt(const domain::RunId& id) override;
    Result<std::optional<domain::Attempt>> open_attempt_of(const domain::AgentId& agent) override;
    Result<std::vector<domain::Attempt>> open_attempts(std::int64_t limit) override;
    Result<std::vector<domain::AgentId>> agents_with_open_attempt(const domain::AgentId& after,
                                                                  std::int64_t limit) override;
    Status put_frame(const domain::RunId& id, json::value frame) override;
    Result<std::optional<json::value>> frame(const domain::RunId& id) override;

    Status put_tool_execution(const domain::ToolExecution& execution) override;
    Result<std::optional<domain::ToolExecution>> tool_execution(
        const domain::ToolCallId& id) override;
    Result<std::vector<domain::ToolExecution>> tool_executions(
        const domain::RunId& run, std::optional<std::int64_t> round) override;

    Result<std::int64_t> append_event(const domain::AgentId& agent,
                                      const domain::Event& event) override;
    Result<std::vector<domain::Event>> events(const domain::AgentId& agent,
                                              const store::Page& page) override;
    Result<std::int64_t> last_event_seq(const domain::AgentId& agent) override;
    Status append_transcript(const domain::TranscriptEntry& entry) override;
    Result<std::vector<store::Numbered<domain::TranscriptEntry>>> transcript(
        const domain::AgentId& agent, const store::Page& page) override;
    Result<std::vector<domain::TranscriptEntry>> transcript_of(
        const domain::MessageId& message) override;
    Status append_brief(const domain::Brief& brief) override;
    Result<std::vector<store::Numbered<domain::Brief>>> briefs(const domain::AgentId& agent,
                                                               const store::Page& page) override;

    Result<domain::WorkingMemory> working_memory(const domain::AgentId& agent) override;
    Status put_working_memory(const domain::WorkingMemory& memory) override;
    Status append_episode(const domain::ContextEpisode& episode) override;
    Result<std::vector<store::Numbered<domain::ContextEpisode>>> episodes(
        const domain::AgentId& agent, const store::Page& page) override;

    Status put_wait(const domain::Wait& wait) override;
    Result<std::optional<domain::Wait>> wait(const domain::WaitId& id) override;
    Result<std::vector<domain::Wait>> open_waits(const domain::AgentId& agent) override;
    Result<std::vector<domain::Wait>> open_waits_of(const domain::WorkItemId& item) override;
    Status put_timer(const domain::Timer& timer) override;
    Result<std::optional<domain::Timer>> timer(const domain::TimerId& id) override;
    Result<std::vector<domain::Timer>> active_timers(const domain::AgentId& agent,
                                                     std::int64_t limit) override;
    Result<std::int64_t> active_timer_count(const domain::AgentId& agent) override;
    Result<std::vector<domain::Timer>> timers(const domain::AgentId& agent, std::int64_t limit,
                                              const domain::TimerId& before) override;
    Result<store::DueTimers> due_timers(base::Time now, std::int64_t limit) override;
    Status shelve_timer(const domain::TimerId& id) override;
    Result<std::optional<base::Time>> next_due() override;
    Status put_task(const domain::Task& task) override;
    Result<std::optional<domain::Task>> task(const domain::TaskId& id) override;
    Result<std::vector<domain::Task>> active_tasks(const domain::AgentId& agent) override;
    Result<std::vector<domain::Task>> tasks(const domain::AgentId& agent,
                                            std::int64_t limit) override;
    Result<std::vector<domain::AgentId>> agents_with_active_tasks(std::int64_t limit) override;

    Status put_trigger(const domain::ExternalTrigger& trigger) override;
    Result<std::optional<domain::ExternalTrigger>> trigger_by_token(
        const std::string& token_hash) override;
    Result<std::optional<domain::ExternalTrigger>> active_trigger(
        const domain::AgentId& agent) override;
    Result<std::vector<domain::ExternalTrigger>> triggers(const domain::AgentId& agent,
                                                          std::int64_t limit) override;
    Status put_webhook(const domain::Webhook& webhook) override;
    Result<std::optional<domain::Webhook>> webhook_by_token(const std::string& token_hash) override;
    Result<std::vector<domain::Webhook>> webhooks(const domain::AgentId& agent,
                                                  std::int64_t limit) override;
    Status put_wake_hint(const domain::WakeHint& hint) override;
    Result<std::optional<domain::WakeHint>> wake_hint(const domain::AgentId& agent) override;
    Status erase_wake_hint(const domain::AgentId& agent) override;
    Result<std::vector<domain::AgentId>> agents_with_wake_hint(const domain::AgentId& after,
                                                               std::int64_t limit) override;

    Status append_notification(const domain::OperatorNotification& notification) override;
    Result<std::vector<domain::OperatorNotification>> notifications(const domain::AgentId& agent,
                                                                    std::int64_t limit) override;
    Status put_binding(const domain::OperatorBinding& binding) override;
    Result<std::optional<domain::OperatorBinding>> binding(const std::string& id) override;
    Result<std::vector<domain::OperatorBinding>> bindings(const domain::AgentId& agent,
                                                          std::int64_t limit) override;
    Status add_delivery(const domain::OperatorDelivery& delivery, const std::string& body) override;
    Result<std::optional<domain::OperatorDelivery>> delivery(const std::string& id) override;
    Status put_delivery(const domain::OperatorDelivery& delivery) override;
    Result<store::DueDeliveries> due_deliveries(base::Time now, std::int64_t limit) override;
    Status shelve_delivery(const std::string& id) override;
    Result<std::optional<base::Time>> next_delivery_due() override;
    Result<std::vector<domain::OperatorDelivery>> deliveries(const domain::AgentId& agent,
                                                             std::int64_t limit) override;

    Status put_work_item(const domain::WorkItem& item) override;
    Result<std::optional<domain::WorkItem>> work_item(const domain::WorkItemId& id) override;
    Result<std::vector<domain::WorkItem>> work_items(const domain::AgentId& agent,
                                                     const store::WorkPage& page) override;
    Result<std::vector<domain::WorkItem>> runnable_work(const domain::AgentId& agent,
                                                        base::Time changed_after,
                                                        std::int64_t limit) override;
    Result<std::vector<domain::WorkItem>> due_rechecks(const domain::AgentId& agent, base::Time now,
                                                       std::int64_t limit) override;
    Result<store::WorkCounts> work_counts(const domain::AgentId& agent) override;
    Result<std::int64_t> work_version(const domain::AgentId& agent) override;
    Result<std::vector<domain::AgentId>> agents_with_runnable_work(const domain::AgentId& after,
                                                                   std::int64_t limit) override;
    Status append_delivery_summary(const domain::DeliverySummary& summary) override;
    Result<std::optional<domain::DeliverySummary>> delivery_summary(
        const domain::WorkItemId& item) override;

    Status put_workspace(const domain::WorkspaceEntry& entry) override;
    Result<std::optional<domain::WorkspaceEntry>> workspace(const std::string& id) override;
    Status put_worktree(const domain::ManagedWorktree& worktree) override;
    Result<std::optional<domain::ManagedWorktree>> worktree(const std::string& path) override;
    Result<std::vector<domain::ManagedWorktree>> worktrees(const domain::AgentId& agent,
                                                           std::int64_t limit) override;

    Status put_outbox(const store::OutboxEntry& entry) override;
    Status erase_outbox(const std::string& effect_id) override;
    Result<std::vector<store::OutboxEntry>> outbox(const domain::AgentId& agent) override;

    Status add_plan_run(const domain::PlanRun& run, const std::string& plan) override;
    Status put_plan_run(const domain::PlanRun& run) override;
    Result<std::optional<domain::PlanRun>> plan_run(const domain::RunId& id) override;
    Result<std::optional<std::string>> plan_document(const domain::RunId& id) override;
    Result<std::vector<domain::PlanRun>> plan_runs(std::int64_t limit,
                                                   const domain::RunId& before) override;
    Result<std::vector<domain::PlanRun>> plan_runs_reverting(const domain::RunId& run) override;
    Result<std::vector<domain::RunId>> plan_run_ids(const std::string& start,
                                                    std::int64_t limit) override;
    Result<std::vector<domain::PlanRun>> open_plan_runs(std::int64_t limit) override;
    Result<std::int64_t> plan_run_count() override;
    Result<std::vector<domain::PlanRun>> ended_plan_runs(std::int64_t limit) override;
    Status drop_plan_run(const domain::RunId& id) override;
    Result<bool> erase_dropped_plan_rows(std::int64_t limit) override;
    Status append_plan_records(const domain::RunId& run,
                               const std::vector<domain::PlanRecord>& records) override;
    Result<std::vector<domain::PlanRecord>> plan_records(const domain::RunId& run,
                                                         std::int64_t after_seq,
                                                         std::int64_t limit) override;
    Status put_plan_origin(const domain::PlanOrigin& origin) override;
    Result<std::optional<domain::PlanOrigin>> plan_origin(const std::string& plan_hash) override;
    Status put_plan_action(const domain::PlanAction& action) override;
    Status erase_plan_action(const std::string& name) override;
    Result<std::optional<domain::PlanAction>> plan_action(const std::string& name) override;
    Result<std::vector<domain::PlanAction>> plan_actions(std::int64_t limit) override;

    Status put_gate_document(const domain::GateDocument& document) override;
    Result<std::optional<domain::GateDocument>> gate_document(
        const std::string& document_id) override;
    Result<std::vector<domain::GateDocument>> gate_documents(std::optional<domain::GatePlace> place,
                                                             std::int64_t limit,
                                                             const std::string& before) override;

    Result<store::RetentionState> retention() override;
    Status put_retention(const store::RetentionState& state) override;
    Result<store::DatabaseSize> database_size() override;
    Result<std::vector<store::TableRows>> row_counts() override;
    Result<std::int64_t> stream_head(const domain::AgentId& agent, store::Stream stream) override;
    Result<std::int64_t> erasures(const domain::AgentId& agent) override;
    Result<std::vector<store::AgedRow>> oldest_rows(const domain::AgentId& agent,
                                                    store::Stream stream, std::int64_t after_seq,
                                                    std::int64_t limit) override;
    Result<std::int64_t> erase_rows(const domain::AgentId& agent, store::Stream stream,
                                    std::int64_t after_seq, std::int64_t through_seq) override;
    Result<store::ErasedMessage> erase_message(const domain::MessageId& id,
                                               std::int64_t rows_max) override;
    Result<std::vector<std::string>> artifacts_of(const domain::MessageId& id) override;

private:
    // Every change goes through here: the number of changed rows, or Refused in a read, or the
    // error of an earlier change.
    Result<std::int64_t> change(std::string_view statement, Params params);

    // The next number of one of the agent's streams. Undone with the transaction, so without gaps.
    Result<std::int64_t> next_seq(const domain::AgentId& agent, std::string_view stream);
    // The last number given out, by this transaction too; 0 when there is none.
    Result<std::int64_t> head_of(const domain::AgentId& agent, std::string_view stream);

    // The agent ids in the first column.
    Result<std::vector<domain::AgentId>> agent_ids(std::string_view statement, Params params);

    // The agents behind `after` that `next` finds one by one: it selects the first agent id above
    // $1. One step in the index per agent; a DISTINCT would read every row of all of them.
    Result<std::vector<domain::AgentId>> agents_one_by_one(std::string_view next, std::string after,
                                                           std::int64_t limit);

    // The number in the first column of the first row, or 0.
    Result<std::int64_t> number(std::string_view statement, Params params);

    // The number by which a list is ordered, of the entry `before`, which the statement selects.
    // Above all of them when `before` is empty; cursor_not_found when there is no such entry.
    Result<std::int64_t> place_in_list(std::string_view before, std::string_view statement,
                                       Params params);

    // The records in the first column.
    template <class T>
    Result<std::vector<T>> records(std::string_view statement, Params params);
    template <class T>
    Result<std::optional<T>> record(std::string_view statement, Params params);
    // Rows of HOLON_QUEUED_COLUMNS (queue.cc).
    Result<std::vector<store::Numbered<store::QueuedMessage>>> queued_messages(
        std::string_view statement, Params params);
    // The runs in column 1, without those that cannot be read, which are counted; column 0 is the
    // id.
    struct ReadableRuns {
        std::vector<domain::PlanRun> runs;
        std::int64_t left_out{0};
    };
    Result<ReadableRuns> readable_runs(std::string_view which, Params params);
    // Column 0 is the seq, column 1 the record. `ascending` and `descending` differ in order only.
    template <class T>
    Result<std::vector<store::Numbered<T>>> page_of(std::string_view ascending,
                                                    std::string_view descending,
                                                    const domain::AgentId& agent,
                                                    const store::Page& page);

    // Makes `bodies` the ones that the record `owner` of the agent refers to. Those that no record
    // refers to any more are removed.
    Status keep_bodies(const domain::AgentId& agent, const std::string& owner,
                       const std::vector<Body>& bodies);
    Status put_body(const Body& body);
    // The record of these bytes, with its bodies in their places.
    template <class T>
    Result<T> restored(std::string_view text);
    Status restore(json::value& value);

    struct Erasure;  // What erase_message() has done so far.
    Status erase_calls(Erasure& erasure, const domain::RunId& run);
    Status erase_entries(Erasure& erasure, const domain::MessageId& message);
    Result<std::vector<domain::RunId>> attempts_of(const domain::MessageId& message);

    Connection& connection_;
    Access access_;
    store::Durability durability_;
    std::optional<base::Error> doomed_;
    // The last number given out, by agent and stream: written once, however many were.
    std::map<std::pair<std::string, std::string>, std::int64_t> heads_;
    ReadOnce<domain::Agent> agents_;
    ReadOnce<domain::AgentStatistics> statistics_;
    ReadOnce<domain::AgentFault> faults_;
    ReadOnce<domain::Attempt> open_attempts_;
    ReadOnce<domain::ExternalTrigger> active_triggers_;
    ReadOnce<domain::WorkingMemory> memories_;
};

}  // namespace sql
