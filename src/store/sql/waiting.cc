#include "store/sql/sql_tx_inl.h"

namespace sql {

using base::from_micros;
using base::to_micros;
using domain::Task;
using domain::TaskStatus;
using domain::Timer;
using domain::Wait;
using domain::WaitStatus;
using store::OutboxEntry;

namespace {

bool is_open(WaitStatus status) {
    return status == WaitStatus::Active || status == WaitStatus::Triggered;
}

bool is_active(TaskStatus status) {
    return status == TaskStatus::Queued || status == TaskStatus::Running ||
           status == TaskStatus::Cancelling;
}

std::optional<std::int64_t> micros(const std::optional<base::Time>& time) {
    if (!time) return std::nullopt;
    return to_micros(*time);
}

}  // namespace

// Waits, timers and tasks keep the seq of their first put, so their order never depends on clocks.
// That is why these try the update first and take a number only when there was nothing to update.

Status SqlTx::put_wait(const Wait& wait) {
    const auto text = TRY(encode(wait));
    const std::int64_t open = is_open(wait.status) ? 1 : 0;
    if (TRY(change("UPDATE waits SET is_open = $2, record = $3 WHERE id = $1",
                   {wait.id, open, text})) == 1)
        return {};
    TRY(
        change("INSERT INTO waits (id, agent_id, seq, is_open, record, work_item_id) "
               "VALUES ($1, $2, $3, $4, $5, $6)",
               {wait.id, wait.agent_id, TRY(next_seq(wait.agent_id, "wait")), open, text,
                wait.work_item_id}));
    return {};
}

Result<std::optional<Wait>> SqlTx::wait(const domain::WaitId& id) {
    return record<Wait>("SELECT record FROM waits WHERE id = $1", {id});
}

Result<std::vector<Wait>> SqlTx::open_waits(const AgentId& agent) {
    return whole(
        records<Wait>("SELECT record FROM waits WHERE agent_id = $1 AND is_open = 1 "
                      "ORDER BY seq LIMIT $2",
                      {agent, kListRowsMax + 1}));
}

Result<std::vector<Wait>> SqlTx::open_waits_of(const domain::WorkItemId& item) {
    return whole(
        records<Wait>("SELECT record FROM waits WHERE work_item_id = $1 AND is_open = 1 "
                      "AND work_item_id IS NOT NULL ORDER BY seq LIMIT $2",
                      {item, kListRowsMax + 1}));
}

Status SqlTx::put_timer(const Timer& timer) {
    const auto text = TRY(encode(timer));
    const std::int64_t active = timer.status == domain::TimerStatus::Active ? 1 : 0;
    const auto next_fire_at = micros(timer.next_fire_at);
    if (TRY(change("UPDATE timers SET is_active = $2, next_fire_at = $3, record = $4 "
                   "WHERE id = $1",
                   {timer.id, active, next_fire_at, text})) == 1)
        return {};
    TRY(
        change("INSERT INTO timers (id, agent_id, seq, is_active, next_fire_at, record) "
               "VALUES ($1, $2, $3, $4, $5, $6)",
               {timer.id, timer.agent_id, TRY(next_seq(timer.agent_id, "timer")), active,
                next_fire_at, text}));
    return {};
}

Result<std::optional<Timer>> SqlTx::timer(const domain::TimerId& id) {
    return record<Timer>("SELECT record FROM timers WHERE id = $1", {id});
}

Result<std::vector<Timer>> SqlTx::active_timers(const AgentId& agent, std::int64_t limit) {
    return records<Timer>(
        "SELECT record FROM timers WHERE agent_id = $1 AND is_active = 1 ORDER BY seq LIMIT $2",
        {agent, bounded(limit)});
}

Result<std::int64_t> SqlTx::active_timer_count(const AgentId& agent) {
    return number("SELECT COUNT(*) FROM timers WHERE agent_id = $1 AND is_active = 1", {agent});
}

Result<std::vector<Timer>> SqlTx::timers(const AgentId& agent, std::int64_t limit,
                                         const domain::TimerId& before) {
    const auto end = TRY(place_in_list(
        before.value, "SELECT seq FROM timers WHERE id = $1 AND agent_id = $2", {before, agent}));
    return records<Timer>(
        "SELECT record FROM timers WHERE agent_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
        {agent, end, bounded(limit)});
}

// Timers of agents that are set aside stay due, and fire when the agent is recovered.
#define HOLON_NOT_SET_ASIDE                                                  \
    "AND NOT EXISTS (SELECT 1 FROM agent_faults f WHERE f.is_set_aside = 1 " \
    "AND f.agent_id = timers.agent_id) "

Result<store::DueTimers> SqlTx::due_timers(base::Time now, std::int64_t limit) {
    store::DueTimers due;
    TRY(connection_.query(
        "SELECT id, agent_id, record FROM timers WHERE is_active = 1 AND next_fire_at IS NOT NULL "
        "AND next_fire_at <= $1 " HOLON_NOT_SET_ASIDE "ORDER BY next_fire_at, id LIMIT $2",
        {to_micros(now), bounded(limit)}, [&](const Row& row) -> Status {
            auto timer = decode<Timer>(row.text(2));
            if (timer)
                due.timers.push_back(std::move(*timer));
            else
                due.broken.push_back({.id = {std::string(row.text(0))},
                                      .agent_id = {std::string(row.text(1))},
                                      .error = timer.error().message});
            return {};
        }));
    return due;
}

// is_active is -1 from now on.
Status SqlTx::shelve_timer(const domain::TimerId& id) {
    TRY(change("UPDATE timers SET is_active = -1 WHERE id = $1", {id}));
    return {};
}

Result<std::optional<base::Time>> SqlTx::next_due() {
    std::optional<base::Time> due;
    TRY(
        connection_.query("SELECT next_fire_at FROM timers WHERE is_active = 1 AND next_fire_at IS "
                          "NOT NULL " HOLON_NOT_SET_ASIDE "ORDER BY next_fire_at LIMIT 1",
                          {}, [&](const Row& row) -> Status {
                              due = from_micros(row.integer(0));
                              return {};
                          }));
    return due;
}

Status SqlTx::put_task(const Task& task) {
    const auto text = TRY(encode(task));
    const std::int64_t active = is_active(task.status) ? 1 : 0;
    if (TRY(change("UPDATE tasks SET is_active = $2, record = $3 WHERE id = $1",
                   {task.id, active, text})) == 1)
        return {};
    TRY(
        change("INSERT INTO tasks (id, agent_id, seq, is_active, record) "
               "VALUES ($1, $2, $3, $4, $5)",
               {task.id, task.agent_id, TRY(next_seq(task.agent_id, "task")), active, text}));
    return {};
}

Result<std::optional<Task>> SqlTx::task(const domain::TaskId& id) {
    return record<Task>("SELECT record FROM tasks WHERE id = $1", {id});
}

Result<std::vector<Task>> SqlTx::active_tasks(const AgentId& agent) {
    return whole(
        records<Task>("SELECT record FROM tasks WHERE agent_id = $1 AND is_active = 1 "
                      "ORDER BY seq LIMIT $2",
                      {agent, kListRowsMax + 1}));
}

Result<std::vector<Task>> SqlTx::tasks(const AgentId& agent, std::int64_t limit) {
    return records<Task>("SELECT record FROM tasks WHERE agent_id = $1 ORDER BY seq DESC LIMIT $2",
                         {agent, bounded(limit)});
}

Result<std::vector<AgentId>> SqlTx::agents_with_active_tasks(std::int64_t limit) {
    return agents_one_by_one(
        "SELECT agent_id FROM tasks WHERE agent_id > $1 AND is_active = 1 "
        "ORDER BY agent_id LIMIT 1",
        "", limit);
}

Status SqlTx::put_outbox(const OutboxEntry& entry) {
    const auto payload = TRY(encode(entry.payload));
    if (TRY(number("SELECT 1 FROM outbox WHERE effect_id = $1", {entry.effect_id})) == 1) return {};
    TRY(
        change("INSERT INTO outbox (effect_id, agent_id, seq, kind, payload, created_at) "
               "VALUES ($1, $2, $3, $4, $5, $6)",
               {entry.effect_id, entry.agent_id, TRY(next_seq(entry.agent_id, "outbox")),
                entry.kind, payload, to_micros(entry.created_at)}));
    return {};
}

Status SqlTx::erase_outbox(const std::string& effect_id) {
    TRY(change("DELETE FROM outbox WHERE effect_id = $1", {effect_id}));
    return {};
}

Result<std::vector<OutboxEntry>> SqlTx::outbox(const AgentId& agent) {
    std::vector<OutboxEntry> list;
    TRY(connection_.query(
        "SELECT effect_id, kind, payload, created_at FROM outbox WHERE agent_id = $1 "
        "ORDER BY seq LIMIT $2",
        {agent, kListRowsMax + 1}, [&](const Row& row) -> Status {
            list.push_back({.effect_id = std::string(row.text(0)),
                            .agent_id = agent,
                            .kind = std::string(row.text(1)),
                            .payload = TRY(decode<json::value>(row.text(2))),
                            .created_at = from_micros(row.integer(3))});
            return {};
        }));
    return whole<OutboxEntry>(std::move(list));
}

}  // namespace sql
