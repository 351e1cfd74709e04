#include "store/sql/sql_tx_inl.h"

namespace sql {

using base::to_micros;
using domain::DeliverySummary;
using domain::WorkItem;
using domain::WorkReadiness;

namespace {

std::int64_t number_of(WorkReadiness readiness) {
    return static_cast<std::int64_t>(readiness);
}

// When the reminder of the item is still to fire.
std::optional<std::int64_t> recheck_of(const WorkItem& item) {
    if (readiness_of(item) == WorkReadiness::Completed || !item.blocked_by || !item.recheck_at)
        return std::nullopt;
    if (item.recheck_consumed_at && *item.recheck_consumed_at >= *item.recheck_at)
        return std::nullopt;
    return to_micros(*item.recheck_at);
}

// In the order of the list, newest change first, everything is behind this.
constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

}  // namespace

Status SqlTx::put_work_item(const WorkItem& item) {
    TRY(next_seq(item.agent_id, "work"));
    TRY(
        change("INSERT INTO work_items (id, agent_id, readiness, updated_at, recheck_at, record) "
               "VALUES ($1, $2, $3, $4, $5, $6) "
               "ON CONFLICT (id) DO UPDATE SET readiness = excluded.readiness, "
               "updated_at = excluded.updated_at, recheck_at = excluded.recheck_at, "
               "record = excluded.record",
               {item.id, item.agent_id, number_of(readiness_of(item)), to_micros(item.updated_at),
                recheck_of(item), TRY(encode(item))}));
    return {};
}

Result<std::optional<WorkItem>> SqlTx::work_item(const domain::WorkItemId& id) {
    return record<WorkItem>("SELECT record FROM work_items WHERE id = $1", {id});
}

Result<std::vector<WorkItem>> SqlTx::work_items(const AgentId& agent, const store::WorkPage& page) {
    const std::int64_t before =
        page.before_updated_at ? to_micros(*page.before_updated_at) : kNewest;
    if (page.readiness)
        return records<WorkItem>(
            "SELECT record FROM work_items WHERE agent_id = $1 AND readiness = $2 "
            "AND (updated_at, id) < ($3, $4) ORDER BY updated_at DESC, id DESC LIMIT $5",
            {agent, number_of(*page.readiness), before, page.before_id, bounded(page.limit)});
    if (page.open_only)
        return records<WorkItem>(
            "SELECT record FROM work_items WHERE agent_id = $1 AND readiness < 3 "
            "AND (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $4",
            {agent, before, page.before_id, bounded(page.limit)});
    return records<WorkItem>(
        "SELECT record FROM work_items WHERE agent_id = $1 "
        "AND (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $4",
        {agent, before, page.before_id, bounded(page.limit)});
}

Result<std::vector<WorkItem>> SqlTx::runnable_work(const AgentId& agent, base::Time changed_after,
                                                   std::int64_t limit) {
    return records<WorkItem>(
        "SELECT record FROM work_items WHERE agent_id = $1 AND readiness = 0 "
        "AND updated_at > $2 ORDER BY updated_at, id LIMIT $3",
        {agent, to_micros(changed_after), bounded(limit)});
}

Result<std::vector<WorkItem>> SqlTx::due_rechecks(const AgentId& agent, base::Time now,
                                                  std::int64_t limit) {
    return records<WorkItem>(
        "SELECT record FROM work_items WHERE agent_id = $1 AND recheck_at IS NOT NULL "
        "AND recheck_at <= $2 ORDER BY recheck_at, id LIMIT $3",
        {agent, to_micros(now), bounded(limit)});
}

Result<store::WorkCounts> SqlTx::work_counts(const AgentId& agent) {
    store::WorkCounts counts;
    TRY(
        connection_.query("SELECT readiness, COUNT(*) FROM work_items WHERE agent_id = $1 "
                          "GROUP BY readiness",
                          {agent}, [&](const Row& row) -> Status {
                              const std::int64_t count = row.integer(1);
                              switch (static_cast<WorkReadiness>(row.integer(0))) {
                                  case WorkReadiness::Runnable:
                                      counts.runnable = count;
                                      break;
                                  case WorkReadiness::WaitingForOperator:
                                      counts.waiting_for_operator = count;
                                      break;
                                  case WorkReadiness::Blocked:
                                      counts.blocked = count;
                                      break;
                                  case WorkReadiness::Completed:
                                      counts.completed = count;
                                      break;
                              }
                              return {};
                          }));
    return counts;
}

Result<std::int64_t> SqlTx::work_version(const AgentId& agent) {
    return head_of(agent, "work");
}

Result<std::vector<AgentId>> SqlTx::agents_with_runnable_work(const AgentId& after,
                                                              std::int64_t limit) {
    return agents_one_by_one(
        "SELECT agent_id FROM work_items WHERE agent_id > $1 AND readiness = 0 "
        "ORDER BY agent_id LIMIT 1",
        after.value, limit);
}

Status SqlTx::append_delivery_summary(const DeliverySummary& summary) {
    TRY(
        change("INSERT INTO delivery_summaries (id, agent_id, work_item_id, seq, record) "
               "VALUES ($1, $2, $3, $4, $5)",
               {summary.id, summary.agent_id, summary.work_item_id,
                TRY(next_seq(summary.agent_id, "delivery_summary")), TRY(encode(summary))}));
    return {};
}

Result<std::optional<DeliverySummary>> SqlTx::delivery_summary(const domain::WorkItemId& item) {
    for (auto& summary : TRY(records<DeliverySummary>(
             "SELECT record FROM delivery_summaries WHERE work_item_id = $1 "
             "ORDER BY seq DESC LIMIT 16",
             {item})))
        if (!summary.text.empty()) return std::move(summary);
    return std::nullopt;
}

}  // namespace sql
