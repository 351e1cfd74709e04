#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::Attempt;
using domain::ToolExecution;

namespace {

std::int64_t is_open(const Attempt& attempt) {
    return std::holds_alternative<domain::Closed>(attempt.state) ? 0 : 1;
}

}  // namespace

Status SqlTx::open_attempt(const Attempt& attempt) {
    open_attempts_.forget(attempt.agent_id);
    const std::int64_t added =
        TRY(change("INSERT INTO attempts (run_id, agent_id, message_id, is_open, record) "
                   "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                   {attempt.run_id, attempt.agent_id, attempt.message_id, is_open(attempt),
                    TRY(encode(attempt))}));
    if (added == 1) return {};
    if (const auto open = TRY(open_attempt_of(attempt.agent_id)))
        return fail(ErrorCode::Conflict,
                    "agent {} already has the open attempt {}; close it before opening {}",
                    attempt.agent_id, open->run_id, attempt.run_id);
    return fail(ErrorCode::Conflict, "there already is an attempt {}", attempt.run_id);
}

Status SqlTx::put_attempt(const Attempt& attempt) {
    open_attempts_.forget(attempt.agent_id);
    const std::int64_t changed =
        TRY(change("UPDATE attempts SET is_open = $2, record = $3 WHERE run_id = $1",
                   {attempt.run_id, is_open(attempt), TRY(encode(attempt))}));
    if (changed == 0) return fail(ErrorCode::NotFound, "there is no attempt {}", attempt.run_id);
    return {};
}

Result<std::optional<Attempt>> SqlTx::attempt(const RunId& id) {
    return record<Attempt>("SELECT record FROM attempts WHERE run_id = $1", {id});
}

Result<std::optional<Attempt>> SqlTx::open_attempt_of(const AgentId& agent) {
    return open_attempts_.get(agent, [&] {
        return record<Attempt>("SELECT record FROM attempts WHERE agent_id = $1 AND is_open = 1",
                               {agent});
    });
}

Result<std::vector<Attempt>> SqlTx::open_attempts(std::int64_t limit) {
    return records<Attempt>(
        "SELECT record FROM attempts WHERE is_open = 1 ORDER BY agent_id LIMIT $1",
        {bounded(limit)});
}

Result<std::vector<AgentId>> SqlTx::agents_with_open_attempt(const AgentId& after,
                                                             std::int64_t limit) {
    return agent_ids(
        "SELECT agent_id FROM attempts WHERE agent_id > $1 AND is_open = 1 "
        "ORDER BY agent_id LIMIT $2",
        {after, bounded(limit)});
}

// An object is stored with references: most of it is the same in every turn.
Status SqlTx::put_frame(const RunId& id, json::value frame) {
    AgentId agent;
    TRY(connection_.query("SELECT agent_id FROM attempts WHERE run_id = $1", {id},
                          [&](const Row& row) -> Status {
                              agent.value = row.text(0);
                              return {};
                          }));
    Shared shared;
    if (frame.is_object())
        shared = TRY(share_frame(agent.value, std::move(frame)));
    else
        shared.text = TRY(encode(frame));
    TRY(
        change("INSERT INTO frames (run_id, frame) VALUES ($1, $2) "
               "ON CONFLICT (run_id) DO UPDATE SET frame = excluded.frame",
               {id, shared.text}));
    return keep_bodies(agent, frame_owner(id), shared.bodies);
}

Result<std::optional<json::value>> SqlTx::frame(const RunId& id) {
    auto stored = TRY(record<json::value>("SELECT frame FROM frames WHERE run_id = $1", {id}));
    if (!stored) return std::nullopt;
    if (const auto* text = stored->if_string()) {
        auto parsed = base::parse_json(std::string_view(text->data(), text->size()));
        return parsed ? std::move(*parsed) : std::move(*stored);
    }
    TRY(restore(*stored));
    return stored;
}

Status SqlTx::put_tool_execution(const ToolExecution& execution) {
    const auto shared = TRY(share(execution.call.agent_id.value, base::to_json(execution)));
    TRY(
        change("INSERT INTO tool_executions (call_id, agent_id, run_id, round, ordinal, record) "
               "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (call_id) DO UPDATE SET "
               "agent_id = excluded.agent_id, run_id = excluded.run_id, round = excluded.round, "
               "ordinal = excluded.ordinal, record = excluded.record",
               {execution.call.call_id, execution.call.agent_id, execution.call.run_id,
                execution.round, execution.ordinal, shared.text}));
    return keep_bodies(execution.call.agent_id, call_owner(execution.call.call_id.value),
                       shared.bodies);
}

Result<std::optional<ToolExecution>> SqlTx::tool_execution(const domain::ToolCallId& id) {
    return record<ToolExecution>("SELECT record FROM tool_executions WHERE call_id = $1", {id});
}

Result<std::vector<ToolExecution>> SqlTx::tool_executions(const RunId& run,
                                                          std::optional<std::int64_t> round) {
    if (round)
        return whole(records<ToolExecution>(
            "SELECT record FROM tool_executions WHERE run_id = $1 AND round = $2 "
            "ORDER BY ordinal, call_id LIMIT $3",
            {run, *round, kListRowsMax + 1}));
    return whole(
        records<ToolExecution>("SELECT record FROM tool_executions WHERE run_id = $1 "
                               "ORDER BY round, ordinal, call_id LIMIT $2",
                               {run, kListRowsMax + 1}));
}

}  // namespace sql
