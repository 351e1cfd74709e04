#include "store/sql/sql_tx_inl.h"

#include <limits>

#include "base/text.h"

namespace sql {

Result<std::int64_t> SqlTx::change(std::string_view statement, Params params) {
    if (access_ == Access::Read)
        return fail(ErrorCode::Refused, "a read cannot change anything; use write()");
    if (doomed_) return std::unexpected(*doomed_);
    auto changed = connection_.execute(statement, params);
    if (!changed) doomed_ = changed.error();
    return changed;
}

Result<std::int64_t> SqlTx::number(std::string_view statement, Params params) {
    std::int64_t value = 0;
    TRY(connection_.query(statement, params, [&](const Row& row) -> Status {
        value = row.integer(0);
        return {};
    }));
    return value;
}

Result<std::int64_t> SqlTx::place_in_list(std::string_view before, std::string_view statement,
                                          Params params) {
    if (before.empty()) return std::numeric_limits<std::int64_t>::max();
    std::optional<std::int64_t> place;
    TRY(connection_.query(statement, params, [&](const Row& row) -> Status {
        place = row.integer(0);
        return {};
    }));
    if (place) return *place;
    return std::unexpected(base::Error{
        ErrorCode::NotFound,
        fmt::format("'{}' is not in this list, or no longer; begin with the newest again",
                    base::printable(base::ellipsize(before, 64))),
        "cursor_not_found"});
}

Result<std::int64_t> SqlTx::next_seq(const AgentId& agent, std::string_view stream) {
    if (access_ == Access::Read)
        return fail(ErrorCode::Refused, "a read cannot change anything; use write()");
    const std::int64_t next = TRY(head_of(agent, stream)) + 1;
    heads_.insert_or_assign({agent.value, std::string(stream)}, next);
    return next;
}

Result<std::int64_t> SqlTx::head_of(const AgentId& agent, std::string_view stream) {
    const auto given = heads_.find({agent.value, std::string(stream)});
    if (given != heads_.end()) return given->second;
    return number("SELECT seq FROM stream_heads WHERE agent_id = $1 AND stream = $2",
                  {agent, stream});
}

Status SqlTx::settle() {
    for (const auto& [place, seq] : heads_)
        TRY(
            change("INSERT INTO stream_heads (agent_id, stream, seq) VALUES ($1, $2, $3) "
                   "ON CONFLICT (agent_id, stream) DO UPDATE SET seq = excluded.seq",
                   {AgentId{place.first}, place.second, seq}));
    heads_.clear();
    return {};
}

Result<std::optional<domain::Agent>> SqlTx::agent(const AgentId& id) {
    return agents_.get(id, [&] {
        return record<domain::Agent>("SELECT record FROM agents WHERE agent_id = $1", {id});
    });
}

Result<std::vector<AgentId>> SqlTx::agents(const AgentId& after, std::int64_t limit) {
    return agent_ids("SELECT agent_id FROM agents WHERE agent_id > $1 ORDER BY agent_id LIMIT $2",
                     {after, bounded(limit)});
}

Result<std::vector<AgentId>> SqlTx::listed_agents(const AgentId& after, std::int64_t limit) {
    return agent_ids(
        "SELECT agent_id FROM agents WHERE agent_id > $1 AND is_listed = 1 "
        "ORDER BY agent_id LIMIT $2",
        {after, bounded(limit)});
}

Result<std::vector<AgentId>> SqlTx::agent_ids(std::string_view statement, Params params) {
    std::vector<AgentId> ids;
    TRY(connection_.query(statement, params, [&](const Row& row) -> Status {
        ids.push_back({std::string(row.text(0))});
        return {};
    }));
    return ids;
}

Result<std::vector<AgentId>> SqlTx::agents_one_by_one(std::string_view next, std::string after,
                                                      std::int64_t limit) {
    std::vector<AgentId> ids;
    while (std::ssize(ids) < limit) {
        const auto found = TRY(agent_ids(next, {after}));
        if (found.empty()) break;
        after = found.front().value;
        ids.push_back(found.front());
    }
    return ids;
}

// Each counts the entries of an index that holds nothing else.
Result<store::Counts> SqlTx::counts() {
    return store::Counts{
        .listed_agents = TRY(number("SELECT COUNT(*) FROM agents WHERE is_listed = 1", {})),
        .open_attempts = TRY(number("SELECT COUNT(*) FROM attempts WHERE is_open = 1", {})),
        .active_tasks = TRY(number("SELECT COUNT(*) FROM tasks WHERE is_active = 1", {})),
        .waiting_agents =
            TRY(number("SELECT COUNT(DISTINCT agent_id) FROM waits WHERE is_open = 1", {})),
        .queued_messages = TRY(number("SELECT COUNT(*) FROM queue_entries WHERE status IN "
                                      "('interrupted', 'queued')",
                                      {}))};
}

Status SqlTx::put_agent(const domain::Agent& agent) {
    agents_.forget(agent.agent_id);
    const bool is_listed = agent.identity.visibility == domain::Visibility::Public &&
                           agent.identity.status == domain::IdentityStatus::Active;
    TRY(
        change("INSERT INTO agents (agent_id, is_listed, record) VALUES ($1, $2, $3) "
               "ON CONFLICT (agent_id) DO UPDATE SET is_listed = excluded.is_listed, "
               "record = excluded.record",
               {agent.agent_id, std::int64_t{is_listed}, TRY(encode(agent))}));
    return {};
}

Result<domain::AgentStatistics> SqlTx::statistics(const AgentId& agent) {
    auto known = TRY(statistics_.get(agent, [&] {
        return record<domain::AgentStatistics>(
            "SELECT record FROM agent_statistics WHERE agent_id = $1", {agent});
    }));
    return known ? std::move(*known) : domain::AgentStatistics{.agent_id = agent};
}

Status SqlTx::put_statistics(const domain::AgentStatistics& statistics) {
    statistics_.forget(statistics.agent_id);
    TRY(
        change("INSERT INTO agent_statistics (agent_id, record) VALUES ($1, $2) "
               "ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record",
               {statistics.agent_id, TRY(encode(statistics))}));
    return {};
}

Result<std::optional<domain::AgentFault>> SqlTx::fault(const AgentId& agent) {
    return faults_.get(agent, [&] {
        return record<domain::AgentFault>("SELECT record FROM agent_faults WHERE agent_id = $1",
                                          {agent});
    });
}

Status SqlTx::put_fault(const domain::AgentFault& fault) {
    faults_.forget(fault.agent_id);
    TRY(
        change("INSERT INTO agent_faults (agent_id, is_set_aside, record) VALUES ($1, $2, $3) "
               "ON CONFLICT (agent_id) DO UPDATE SET is_set_aside = excluded.is_set_aside, "
               "record = excluded.record",
               {fault.agent_id, std::int64_t{fault.is_set_aside}, TRY(encode(fault))}));
    return {};
}

Status SqlTx::erase_fault(const AgentId& agent) {
    faults_.forget(agent);
    TRY(change("DELETE FROM agent_faults WHERE agent_id = $1", {agent}));
    return {};
}

Result<std::vector<AgentId>> SqlTx::agents_set_aside(std::int64_t limit) {
    return agent_ids(
        "SELECT agent_id FROM agent_faults WHERE is_set_aside = 1 ORDER BY agent_id LIMIT $1",
        {bounded(limit)});
}

Status SqlTx::probe_write(base::Time now) {
    TRY(
        change("INSERT INTO write_probe (id, probed_at) VALUES (1, $1) "
               "ON CONFLICT (id) DO UPDATE SET probed_at = excluded.probed_at",
               {base::to_micros(now)}));
    return {};
}

Status SqlTx::erase_agent(const AgentId& id) {
    agents_.forget(id);
    statistics_.forget(id);
    faults_.forget(id);
    open_attempts_.forget(id);
    active_triggers_.forget(id);
    memories_.forget(id);
    // Rows that do not name their agent go first, while the rows that lead to them are there.
    for (const std::string_view statement : {
             "DELETE FROM bodies WHERE hash IN (SELECT hash FROM body_uses WHERE agent_id = $1)",
             "DELETE FROM body_uses WHERE agent_id = $1",
             "DELETE FROM frames WHERE run_id IN (SELECT run_id FROM attempts WHERE agent_id = $1)",
             "DELETE FROM queue_entries WHERE message_id IN "
             "(SELECT id FROM messages WHERE agent_id = $1)",
             "DELETE FROM attempts WHERE agent_id = $1",
             "DELETE FROM messages WHERE agent_id = $1",
             "DELETE FROM tool_executions WHERE agent_id = $1",
             "DELETE FROM events WHERE agent_id = $1",
             "DELETE FROM transcript WHERE agent_id = $1",
             "DELETE FROM briefs WHERE agent_id = $1",
             "DELETE FROM waits WHERE agent_id = $1",
             "DELETE FROM timers WHERE agent_id = $1",
             "DELETE FROM tasks WHERE agent_id = $1",
             "DELETE FROM outbox WHERE agent_id = $1",
             "DELETE FROM external_triggers WHERE agent_id = $1",
             "DELETE FROM webhooks WHERE agent_id = $1",
             "DELETE FROM wake_hints WHERE agent_id = $1",
             "DELETE FROM operator_notifications WHERE agent_id = $1",
             "DELETE FROM operator_bindings WHERE agent_id = $1",
             // What is still to reach the operator is sent although its agent is gone.
             "DELETE FROM operator_deliveries WHERE agent_id = $1 AND due_at IS NULL",
             "DELETE FROM worktrees WHERE agent_id = $1",
             "DELETE FROM work_items WHERE agent_id = $1",
             "DELETE FROM delivery_summaries WHERE agent_id = $1",
             "DELETE FROM working_memory WHERE agent_id = $1",
             "DELETE FROM episodes WHERE agent_id = $1",
             "DELETE FROM stream_heads WHERE agent_id = $1",
             "DELETE FROM agent_statistics WHERE agent_id = $1",
             "DELETE FROM agent_faults WHERE agent_id = $1",
             "DELETE FROM agents WHERE agent_id = $1",
         })
        TRY(change(statement, {id}));
    std::erase_if(heads_, [&](const auto& head) { return head.first.first == id.value; });
    return {};
}

}  // namespace sql
