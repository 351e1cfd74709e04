#include <algorithm>
#include <array>

#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::TaskId;
using store::AgedRow;
using store::Stream;

namespace {

struct StreamSql {
    Stream stream;
    std::string_view head;    // Its name in stream_heads.
    std::string_view oldest;  // seq, id, time or record, is it needed; $1 agent, $2 after, $3 limit
    std::string_view at;      // The member of the record that says when; empty: column 2 does.
    std::string_view erase;   // $1 agent, $2 after, $3 through
};

// Not a stream, but counted like one.
constexpr std::string_view kErasures = "transcript_erasure";

constexpr StreamSql kStreams[] = {
    {Stream::Messages, "message",
     "SELECT m.seq, m.id, q.updated_at, q.status NOT IN ('processed', 'interjected', 'dropped') "
     "FROM messages m JOIN queue_entries q ON q.message_id = m.id "
     "WHERE m.agent_id = $1 AND m.seq > $2 ORDER BY m.seq LIMIT $3",
     "", ""},
    {Stream::Events, "event",
     "SELECT event_seq, '', record, 0 FROM events WHERE agent_id = $1 AND event_seq > $2 "
     "ORDER BY event_seq LIMIT $3",
     "created_at", "DELETE FROM events WHERE agent_id = $1 AND event_seq > $2 AND event_seq <= $3"},
    {Stream::Transcript, "transcript",
     "SELECT t.seq, '', t.record, m.id IS NOT NULL FROM transcript t "
     "LEFT JOIN messages m ON m.id = t.related_message_id "
     "WHERE t.agent_id = $1 AND t.seq > $2 ORDER BY t.seq LIMIT $3",
     "created_at", "DELETE FROM transcript WHERE agent_id = $1 AND seq > $2 AND seq <= $3"},
    {Stream::Briefs, "brief",
     "SELECT seq, '', record, 0 FROM briefs WHERE agent_id = $1 AND seq > $2 "
     "ORDER BY seq LIMIT $3",
     "created_at", "DELETE FROM briefs WHERE agent_id = $1 AND seq > $2 AND seq <= $3"},
    {Stream::Tasks, "task",
     "SELECT seq, id, record, is_active FROM tasks WHERE agent_id = $1 AND seq > $2 "
     "ORDER BY seq LIMIT $3",
     "updated_at",
     "DELETE FROM tasks WHERE agent_id = $1 AND seq > $2 AND seq <= $3 AND is_active = 0"},
    {Stream::Waits, "wait",
     "SELECT seq, id, record, 0 FROM waits WHERE agent_id = $1 AND is_open = 0 AND seq > $2 "
     "ORDER BY seq LIMIT $3",
     "updated_at",
     "DELETE FROM waits WHERE agent_id = $1 AND is_open = 0 AND seq > $2 AND seq <= $3"},
    {Stream::Timers, "timer",
     "SELECT seq, id, record, 0 FROM timers WHERE agent_id = $1 AND is_active = 0 AND seq > $2 "
     "ORDER BY seq LIMIT $3",
     "created_at",
     "DELETE FROM timers WHERE agent_id = $1 AND is_active = 0 AND seq > $2 AND seq <= $3"},
    {Stream::Episodes, "episode",
     "SELECT seq, id, record, 0 FROM episodes WHERE agent_id = $1 AND seq > $2 "
     "ORDER BY seq LIMIT $3",
     "finalized_at", "DELETE FROM episodes WHERE agent_id = $1 AND seq > $2 AND seq <= $3"},
};

const StreamSql& sql_of(Stream stream) {
    return *std::ranges::find(kStreams, stream, &StreamSql::stream);
}

std::optional<base::Time> time_of(const json::value& record, std::string_view member) {
    const auto time = base::parse_time(base::string_at(record, member));
    if (!time) return std::nullopt;
    return *time;
}

// What a record says of its age, and whether it says that its task is not over: an interrupted one
// is not active, but it will be resumed.
void read_record(const Row& row, const StreamSql& sql, AgedRow& aged) {
    const auto record = decode<json::value>(row.text(2));
    if (!record) return;
    aged.at = time_of(*record, sql.at);
    if (sql.stream == Stream::Timers)
        if (const auto fired = time_of(*record, "last_fired_at")) aged.at = fired;
    if (sql.stream != Stream::Tasks) return;
    const auto status = base::enum_from<domain::TaskStatus>(base::string_at(*record, "status"));
    aged.is_needed = aged.is_needed || !status || !domain::is_terminal(*status);
}

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

// File names behind "tool-artifacts/" anywhere in the bytes of a record, which need not be valid.
void add_artifacts(std::string_view bytes, std::vector<std::string>& names) {
    const std::string folder = std::string(store::kArtifactsFolder) + "/";
    for (auto at = bytes.find(folder); at != bytes.npos; at = bytes.find(folder, at + 1)) {
        const auto rest = bytes.substr(at + folder.size());
        const auto end = std::ranges::find_if_not(rest, is_name_char) - rest.begin();
        std::string name(rest.substr(0, static_cast<std::size_t>(end)));
        if (!name.empty() && !name.starts_with('.') &&
            std::ranges::find(names, name) == names.end())
            names.push_back(std::move(name));
    }
}

}  // namespace

Result<store::RetentionState> SqlTx::retention() {
    const auto state = TRY(record<store::RetentionState>(
        "SELECT record FROM retention WHERE id = $1", {std::int64_t{1}}));
    return state.value_or(store::RetentionState{});
}

Status SqlTx::put_retention(const store::RetentionState& state) {
    TRY(
        change("INSERT INTO retention (id, record) VALUES (1, $1) "
               "ON CONFLICT (id) DO UPDATE SET record = excluded.record",
               {TRY(encode(state))}));
    return {};
}

Result<store::DatabaseSize> SqlTx::database_size() {
    const auto size = TRY(connection_.size());
    return store::DatabaseSize{.used_bytes = size.used_bytes, .free_bytes = size.free_bytes};
}

Result<std::vector<store::TableRows>> SqlTx::row_counts() {
    constexpr auto kTables = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"agents", "SELECT COUNT(*) FROM agents"},
         {"messages", "SELECT COUNT(*) FROM messages"},
         {"attempts", "SELECT COUNT(*) FROM attempts"},
         {"frames", "SELECT COUNT(*) FROM frames"},
         {"tool_executions", "SELECT COUNT(*) FROM tool_executions"},
         {"events", "SELECT COUNT(*) FROM events"},
         {"transcript", "SELECT COUNT(*) FROM transcript"},
         {"briefs", "SELECT COUNT(*) FROM briefs"},
         {"episodes", "SELECT COUNT(*) FROM episodes"},
         {"tasks", "SELECT COUNT(*) FROM tasks"},
         {"waits", "SELECT COUNT(*) FROM waits"},
         {"timers", "SELECT COUNT(*) FROM timers"},
         {"bodies", "SELECT COUNT(*) FROM bodies"},
         {"plan_runs", "SELECT COUNT(*) FROM plan_runs"},
         {"plan_records", "SELECT COUNT(*) FROM plan_records"},
         {"gate_documents", "SELECT COUNT(*) FROM gate_documents"}});
    std::vector<store::TableRows> list;
    for (const auto& [table, statement] : kTables)
        list.push_back({std::string(table), TRY(number(statement, {}))});
    return list;
}

Result<std::int64_t> SqlTx::stream_head(const AgentId& agent, Stream stream) {
    return head_of(agent, sql_of(stream).head);
}

Result<std::int64_t> SqlTx::erasures(const AgentId& agent) {
    return head_of(agent, kErasures);
}

Result<std::vector<AgedRow>> SqlTx::oldest_rows(const AgentId& agent, Stream stream,
                                                std::int64_t after_seq, std::int64_t limit) {
    const auto& sql = sql_of(stream);
    std::vector<AgedRow> rows;
    TRY(connection_.query(sql.oldest, {agent, after_seq, bounded(limit)},
                          [&](const Row& row) -> Status {
                              AgedRow aged{.seq = row.integer(0),
                                           .id = std::string(row.text(1)),
                                           .is_needed = row.integer(3) != 0};
                              if (sql.at.empty())
                                  aged.at = base::from_micros(row.integer(2));
                              else
                                  read_record(row, sql, aged);
                              rows.push_back(std::move(aged));
                              return {};
                          }));
    return rows;
}

Result<std::int64_t> SqlTx::erase_rows(const AgentId& agent, Stream stream, std::int64_t after_seq,
                                       std::int64_t through_seq) {
    CHECK(stream != Stream::Messages, "a message is removed with all that belongs to it");
    if (stream == Stream::Transcript) {
        std::vector<std::int64_t> seqs;
        TRY(
            connection_.query("SELECT seq FROM transcript WHERE agent_id = $1 AND seq > $2 "
                              "AND seq <= $3 ORDER BY seq",
                              {agent, after_seq, through_seq}, [&](const Row& row) -> Status {
                                  seqs.push_back(row.integer(0));
                                  return {};
                              }));
        for (const auto seq : seqs) TRY(keep_bodies(agent, entry_owner(seq), {}));
        TRY(next_seq(agent, kErasures));
    }
    return change(sql_of(stream).erase, {agent, after_seq, through_seq});
}

struct SqlTx::Erasure {
    AgentId agent;
    std::int64_t rows_left{0};
    store::ErasedMessage done{};
};

Result<std::vector<RunId>> SqlTx::attempts_of(const MessageId& message) {
    std::vector<RunId> runs;
    TRY(connection_.query("SELECT run_id FROM attempts WHERE message_id = $1 ORDER BY run_id",
                          {message}, [&](const Row& row) -> Status {
                              runs.push_back({std::string(row.text(0))});
                              return {};
                          }));
    return runs;
}

// The calls of one attempt, as many as may go now.
Status SqlTx::erase_calls(Erasure& erasure, const RunId& run) {
    std::vector<std::string> calls;
    TRY(
        connection_.query("SELECT call_id, record FROM tool_executions WHERE run_id = $1 "
                          "ORDER BY round, ordinal, call_id LIMIT $2",
                          {run, bounded(erasure.rows_left)}, [&](const Row& row) -> Status {
                              calls.emplace_back(row.text(0));
                              add_artifacts(row.text(1), erasure.done.artifacts);
                              return {};
                          }));
    for (auto& call : calls) {
        TRY(keep_bodies(erasure.agent, call_owner(call), {}));
        TRY(change("DELETE FROM tool_executions WHERE call_id = $1", {call}));
        --erasure.rows_left;
        ++erasure.done.rows;
        if (TRY(number("SELECT 1 FROM tasks WHERE id = $1", {call})) == 0)
            erasure.done.calls.push_back(std::move(call));
    }
    return {};
}

Status SqlTx::erase_entries(Erasure& erasure, const MessageId& message) {
    std::vector<std::pair<AgentId, std::int64_t>> entries;
    TRY(connection_.query(
        "SELECT agent_id, seq FROM transcript WHERE related_message_id = $1 "
        "ORDER BY seq LIMIT $2",
        {message, bounded(erasure.rows_left)}, [&](const Row& row) -> Status {
            entries.emplace_back(AgentId{std::string(row.text(0))}, row.integer(1));
            return {};
        }));
    for (const auto& [agent, seq] : entries) {
        TRY(keep_bodies(agent, entry_owner(seq), {}));
        TRY(change("DELETE FROM transcript WHERE agent_id = $1 AND seq = $2", {agent, seq}));
        TRY(next_seq(agent, kErasures));
        --erasure.rows_left;
        ++erasure.done.rows;
    }
    return {};
}

Result<store::ErasedMessage> SqlTx::erase_message(const MessageId& id, std::int64_t rows_max) {
    Erasure erasure{.agent = {}, .rows_left = rows_max};
    bool is_known = false;
    bool is_handled = false;
    TRY(connection_.query(
        "SELECT agent_id, status IN ('processed', 'interjected', 'dropped') FROM queue_entries "
        "WHERE message_id = $1",
        {id}, [&](const Row& row) -> Status {
            is_known = true;
            erasure.agent.value = row.text(0);
            is_handled = row.integer(1) != 0;
            return {};
        }));
    if (!is_known) return store::ErasedMessage{.is_gone = true};
    const bool is_open =
        TRY(number("SELECT 1 FROM attempts WHERE message_id = $1 AND is_open = 1", {id})) == 1;
    if (!is_handled || is_open)
        return fail(ErrorCode::Refused, "message {} is not handled yet and stays", id);
    for (const auto& run : TRY(attempts_of(id))) {
        TRY(erase_calls(erasure, run));
        if (erasure.rows_left <= 0) return std::move(erasure.done);
        TRY(keep_bodies(erasure.agent, frame_owner(run), {}));
        TRY(change("DELETE FROM frames WHERE run_id = $1", {run}));
        TRY(change("DELETE FROM attempts WHERE run_id = $1", {run}));
        erasure.rows_left -= 2;
        erasure.done.rows += 2;
        if (erasure.rows_left <= 0) return std::move(erasure.done);
    }
    TRY(erase_entries(erasure, id));
    if (erasure.rows_left <= 0) return std::move(erasure.done);
    TRY(keep_bodies(erasure.agent, message_owner(id), {}));
    TRY(change("DELETE FROM queue_entries WHERE message_id = $1", {id}));
    TRY(change("DELETE FROM messages WHERE id = $1", {id}));
    erasure.done.rows += 2;
    erasure.done.is_gone = true;
    return std::move(erasure.done);
}

Result<std::vector<std::string>> SqlTx::artifacts_of(const MessageId& id) {
    std::vector<std::string> names;
    for (const auto& run : TRY(attempts_of(id)))
        TRY(
            connection_.query("SELECT record FROM tool_executions WHERE run_id = $1 "
                              "ORDER BY round, ordinal, call_id LIMIT $2",
                              {run, kListRowsMax}, [&](const Row& row) -> Status {
                                  add_artifacts(row.text(0), names);
                                  return {};
                              }));
    return names;
}

}  // namespace sql
