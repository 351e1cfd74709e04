#include "store/sql/sqlite/repair/repair.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "domain/agent.h"
#include "domain/waiting.h"
#include "store/migrations/migrations.h"
#include "store/sql/codec.h"
#include "store/sql/sqlite/connection.h"

namespace sqlite {
namespace {

class Repair {
public:
    Repair(Connection& connection, base::Time now)
        : connection_(connection), now_(base::to_micros(now)), at_(now) {}

    Status run() {
        for (const auto& row : check_all().broken)
            TRY(in_transaction([&] { return quarantine(row); }));
        TRY(in_transaction([&] { return replace_lost_bodies(); }));
        TRY(in_transaction([&] { return release_stuck_attempts(); }));
        TRY(in_transaction([&] { return return_timers(); }));
        TRY(connection_.run_script("REINDEX"));
        report_.actions.emplace_back("all indexes were built anew");
        report_.after = check_all();
        return {};
    }
    RepairReport take() { return std::move(report_); }

private:
    CheckReport check_all() {
        Checker checker(connection_);
        while (checker.step()) {
        }
        return checker.report();
    }

    template <class Body>
    Status in_transaction(Body body) {
        TRY(connection_.begin(sql::Access::Write));
        Status done = body();
        if (done) done = connection_.commit();
        if (!done) connection_.rollback();
        return done;
    }

    base::Result<std::vector<std::string>> texts(std::string_view statement, sql::Params params) {
        std::vector<std::string> list;
        TRY(connection_.query(statement, params, [&](const sql::Row& row) -> Status {
            list.emplace_back(row.text(0));
            return {};
        }));
        return list;
    }

    static std::string hex(std::string_view bytes) {
        std::string out;
        for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
        return out;
    }

    base::Result<std::string> content_of(const BrokenRow& row) {
        const auto columns = TRY(texts(
            fmt::format("SELECT name FROM pragma_table_info('{}') ORDER BY cid", row.table), {}));
        json::object content;
        TRY(connection_.query(fmt::format("SELECT * FROM {} WHERE rowid = $1", row.table),
                              {row.rowid}, [&](const sql::Row& values) -> Status {
                                  for (std::size_t i = 0; i < columns.size(); ++i) {
                                      const auto text = values.text(static_cast<int>(i));
                                      if (base::is_utf8(text))
                                          content[columns[i]] = text;
                                      else
                                          content[columns[i] + "_hex"] = hex(text);
                                  }
                                  return {};
                              }));
        return base::json_text(content);
    }

    // Keeps the bytes of the row and takes it out, with what only it gave a meaning to.
    Status quarantine(const BrokenRow& row) {
        TRY(connection_.execute(
            "INSERT INTO quarantined_rows (table_name, row_key, quarantined_at, error, content) "
            "VALUES ($1, $2, $3, $4, $5)",
            {row.table, row.key, now_, row.error, TRY(content_of(row))}));
        if (row.table == "messages") TRY(drop_entry(row));
        if (row.table == "attempts") TRY(release_message_of_agent(row));
        if (row.table == "agents")
            TRY(renew_agent(row));
        else
            TRY(connection_.execute(fmt::format("DELETE FROM {} WHERE rowid = $1", row.table),
                                    {row.rowid}));
        report_.quarantined.push_back(row);
        return {};
    }

    Status drop_entry(const BrokenRow& row) {
        TRY(connection_.execute(
            "UPDATE queue_entries SET status = 'dropped', reason = 'quarantined: the message "
            "cannot be read', updated_at = $2 WHERE message_id = "
            "(SELECT id FROM messages WHERE rowid = $1)",
            {row.rowid, now_}));
        report_.actions.push_back(
            fmt::format("message {} cannot be read and was dropped", row.key));
        return {};
    }

    // The one message that an agent can have claimed belongs to its one open attempt.
    Status release_message_of_agent(const BrokenRow& row) {
        const auto released = TRY(connection_.execute(
            "UPDATE queue_entries SET status = 'interrupted', reason = 'its turn was lost', "
            "updated_at = $2 WHERE status = 'claimed' AND agent_id = "
            "(SELECT agent_id FROM attempts WHERE rowid = $1 AND is_open = 1)",
            {row.rowid, now_}));
        if (released > 0)
            report_.actions.push_back(
                fmt::format("turn {} was lost; its message waits again", row.key));
        return {};
    }

    Status renew_agent(const BrokenRow& row) {
        const auto names = TRY(texts("SELECT agent_id FROM agents WHERE rowid = $1", {row.rowid}));
        if (names.empty()) return {};
        const domain::AgentId id{names.front()};
        domain::Agent agent{.agent_id = id, .identity = {.agent_id = id}};
        agent.identity.created_at = agent.identity.updated_at = at_;
        TRY(connection_.execute("UPDATE agents SET record = $2 WHERE rowid = $1",
                                {row.rowid, TRY(sql::encode(agent))}));
        const domain::AgentFault fault{
            .agent_id = id,
            .occurred_at = at_,
            .phase = "repair",
            .reason = "its record was lost, and it got a new one: check its model and workspace"};
        TRY(connection_.execute(
            "INSERT INTO agent_faults (agent_id, is_set_aside, record) VALUES ($1, 1, $2) "
            "ON CONFLICT (agent_id) DO UPDATE SET is_set_aside = 1, record = excluded.record",
            {id, TRY(sql::encode(fault))}));
        report_.actions.push_back(
            fmt::format("agent {0} has a new record; check it, then: holon agent recover {0}", id));
        return {};
    }

    // Records that refer to a text which is lost can be read again, with a note in its place.
    Status replace_lost_bodies() {
        const auto replaced = TRY(connection_.execute(
            "INSERT INTO bodies (hash, body) SELECT DISTINCT u.hash, $1 FROM body_uses u "
            "WHERE NOT EXISTS (SELECT 1 FROM bodies b WHERE b.hash = u.hash)",
            {TRY(sql::encode(std::string("[this text was lost; a repair has put this note in its "
                                         "place]")))}));
        if (replaced > 0)
            report_.actions.push_back(fmt::format("{} that {} lost: replaced by a note",
                                                  base::counted(replaced, "text"),
                                                  replaced == 1 ? "was" : "were"));
        return {};
    }

    // An open attempt without its prompt or without the call it waits for cannot be resumed. Its
    // message is tried again with the conversation as far as it is paired.
    Status release_stuck_attempts() {
        const auto stuck =
            TRY(texts("SELECT a.run_id FROM attempts a WHERE a.is_open = 1 AND (NOT EXISTS "
                      "(SELECT 1 FROM frames f WHERE f.run_id = a.run_id) OR "
                      "(a.record -> 'state' ->> 'state' = 'awaiting_tools' AND "
                      "(SELECT COUNT(*) FROM tool_executions t WHERE t.run_id = a.run_id AND "
                      "t.round = CAST(a.record -> 'state' ->> 'round' AS INTEGER)) <= "
                      "CAST(a.record -> 'state' ->> 'next' AS INTEGER)))",
                      {}));
        for (const auto& run : stuck) TRY(release_attempt(run));
        return {};
    }

    Status release_attempt(const std::string& run) {
        const auto row_of = [&](std::string table, std::string key, std::string error,
                                std::int64_t rowid) {
            return BrokenRow{std::move(table), std::move(key), std::move(error), rowid};
        };
        std::int64_t rowid = 0;
        std::string message;
        TRY(connection_.query(
            "SELECT rowid, record ->> 'message_id' FROM attempts WHERE run_id = $1", {run},
            [&](const sql::Row& row) -> Status {
                rowid = row.integer(0);
                message = row.text(1);
                return {};
            }));
        TRY(quarantine(
            row_of("attempts", run, "the turn has lost its prompt or its calls", rowid)));
        TRY(connection_.execute("DELETE FROM outbox WHERE payload ->> 'run_id' = $1", {run}));
        // A round whose calls have no results, at the end.
        std::int64_t last = 0;
        std::string kind;
        bool has_calls = false;
        TRY(connection_.query(
            "SELECT rowid, record ->> 'kind', record LIKE '%\"tool_use\"%' "
            "FROM transcript WHERE related_message_id = $1 ORDER BY seq DESC LIMIT 1",
            {message}, [&](const sql::Row& row) -> Status {
                last = row.integer(0);
                kind = row.text(1);
                has_calls = row.integer(2) != 0;
                return {};
            }));
        if (kind == "assistant_round" && has_calls)
            TRY(quarantine(
                row_of("transcript", "of message " + message, "its calls have no results", last)));
        return {};
    }

    // Timers that could not be read are out of service; those that can be read again return.
    Status return_timers() {
        std::vector<std::pair<std::int64_t, bool>> readable;
        TRY(connection_.query("SELECT rowid, record FROM timers WHERE is_active = -1", {},
                              [&](const sql::Row& row) -> Status {
                                  if (const auto timer = sql::decode<domain::Timer>(row.text(1)))
                                      readable.emplace_back(
                                          row.integer(0),
                                          timer->status == domain::TimerStatus::Active);
                                  return {};
                              }));
        for (const auto& [rowid, is_active] : readable)
            TRY(connection_.execute("UPDATE timers SET is_active = $2 WHERE rowid = $1",
                                    {rowid, std::int64_t{is_active}}));
        if (!readable.empty())
            report_.actions.push_back(
                fmt::format("{} are back in service", base::counted(readable.size(), "timer")));
        return {};
    }

    Connection& connection_;
    std::int64_t now_;
    base::Time at_;
    RepairReport report_;
};

}  // namespace

base::Result<RepairReport> repair(const std::filesystem::path& file, base::Time now) {
    std::error_code failed;
    if (!std::filesystem::exists(file, failed))
        return base::fail(base::ErrorCode::NotFound, "there is no database {}", file.string());
    const auto connection = TRY(Connection::open({.file = file}));
    TRY(migrations::migrate(*connection));
    Repair repair(*connection, now);
    TRY(repair.run());
    return repair.take();
}

}  // namespace sqlite
