#include "store/sql/sql_tx_inl.h"

namespace sql {

using base::from_micros;
using base::to_micros;
using domain::QueueStatus;

namespace {

// Column 0 is the message's seq, 1 its record; the rest is its queue entry.
#define HOLON_QUEUED_COLUMNS                                                                      \
    "SELECT m.seq, m.record, q.message_id, q.agent_id, q.priority, q.status, q.tries, q.reason, " \
    "q.created_at, q.updated_at, q.failures "

// Without the message itself, whose bytes may have references.
struct QueuedRow {
    std::int64_t seq{0};
    std::string message;
    domain::QueueEntry entry;
};

Result<QueuedRow> queued_row(const Row& row) {
    const auto status = base::enum_from<QueueStatus>(row.text(5));
    if (!status)
        return fail(ErrorCode::Corrupt, "queue entry {} has an unknown status '{}'", row.text(2),
                    row.text(5));
    QueuedRow queued{.seq = row.integer(0), .message = std::string(row.text(1))};
    queued.entry = {.message_id = {std::string(row.text(2))},
                    .agent_id = {std::string(row.text(3))},
                    .priority = static_cast<domain::Priority>(row.integer(4)),
                    .status = *status,
                    .tries = row.integer(6),
                    .failures = row.integer(10),
                    .created_at = from_micros(row.integer(8)),
                    .updated_at = from_micros(row.integer(9))};
    if (!row.is_null(7)) queued.entry.reason = std::string(row.text(7));
    return queued;
}

Result<std::optional<store::QueuedMessage>> first(
    Result<std::vector<store::Numbered<store::QueuedMessage>>> found) {
    auto list = TRY(std::move(found));
    if (list.empty()) return std::nullopt;
    return std::move(list.front().record);
}

Result<std::optional<MessageId>> earlier_message(Connection& connection,
                                                 const domain::Message& message,
                                                 const std::optional<std::string>& dedupe_key) {
    std::optional<MessageId> earlier;
    const auto keep = [&](const Row& row) -> Status {
        earlier = MessageId{std::string(row.text(0))};
        return {};
    };
    TRY(connection.query("SELECT id FROM messages WHERE id = $1", {message.id}, keep));
    if (!earlier && dedupe_key)
        TRY(connection.query("SELECT id FROM messages WHERE agent_id = $1 AND dedupe_key = $2",
                             {message.agent_id, dedupe_key}, keep));
    return earlier;
}

}  // namespace

Result<std::vector<store::Numbered<store::QueuedMessage>>> SqlTx::queued_messages(
    std::string_view statement, Params params) {
    std::vector<QueuedRow> rows;
    TRY(connection_.query(statement, params, [&](const Row& row) -> Status {
        rows.push_back(TRY(queued_row(row)));
        return {};
    }));
    std::vector<store::Numbered<store::QueuedMessage>> list;
    list.reserve(rows.size());
    for (auto& row : rows)
        list.push_back(
            {row.seq, {TRY(restored<domain::Message>(row.message)), std::move(row.entry)}});
    return list;
}

Result<store::AppendOutcome> SqlTx::append_message(const domain::Message& message,
                                                   const std::optional<std::string>& dedupe_key) {
    if (const auto earlier = TRY(earlier_message(connection_, message, dedupe_key)))
        return store::AlreadyHave{*earlier};
    const auto shared = TRY(share(message.agent_id.value, base::to_json(message)));
    const std::int64_t seq = TRY(next_seq(message.agent_id, "message"));
    TRY(
        change("INSERT INTO messages (id, agent_id, seq, dedupe_key, record) "
               "VALUES ($1, $2, $3, $4, $5)",
               {message.id, message.agent_id, seq, dedupe_key, shared.text}));
    if (!shared.bodies.empty())
        TRY(keep_bodies(message.agent_id, message_owner(message.id), shared.bodies));
    const std::int64_t created_at = to_micros(message.created_at);
    TRY(
        change("INSERT INTO queue_entries (message_id, agent_id, seq, priority, status, tries, "
               "created_at, updated_at, sender) VALUES ($1, $2, $3, $4, 'queued', 0, $5, $5, $6)",
               {message.id, message.agent_id, seq, static_cast<std::int64_t>(message.priority),
                created_at, domain::external_sender(message)}));
    return store::Appended{seq};
}

Result<std::optional<MessageId>> SqlTx::known_message(
    const domain::Message& message, const std::optional<std::string>& dedupe_key) {
    return earlier_message(connection_, message, dedupe_key);
}

Result<std::optional<store::QueuedMessage>> SqlTx::message(const MessageId& id) {
    return first(queued_messages(
        HOLON_QUEUED_COLUMNS
        "FROM messages m JOIN queue_entries q ON q.message_id = m.id WHERE m.id = $1",
        {id}));
}

Result<std::vector<store::Numbered<store::QueuedMessage>>> SqlTx::messages(
    const AgentId& agent, const store::Page& page) {
    constexpr std::string_view kOldestFirst = HOLON_QUEUED_COLUMNS
        "FROM messages m JOIN queue_entries q ON q.message_id = m.id "
        "WHERE m.agent_id = $1 AND m.seq > $2 AND m.seq < $3 ORDER BY m.seq LIMIT $4";
    constexpr std::string_view kNewestFirst = HOLON_QUEUED_COLUMNS
        "FROM messages m JOIN queue_entries q ON q.message_id = m.id "
        "WHERE m.agent_id = $1 AND m.seq > $2 AND m.seq < $3 ORDER BY m.seq DESC LIMIT $4";
    return queued_messages(page.newest_first ? kNewestFirst : kOldestFirst,
                           {agent, page.after_seq, upper_bound(page), bounded(page.limit)});
}

Result<std::optional<store::QueuedMessage>> SqlTx::next_message(const AgentId& agent) {
    return first(queued_messages(HOLON_QUEUED_COLUMNS
                                 "FROM queue_entries q JOIN messages m ON m.id = q.message_id "
                                 "WHERE q.agent_id = $1 AND q.status IN ('interrupted', 'queued') "
                                 "ORDER BY q.priority, q.status, q.seq LIMIT 1",
                                 {agent}));
}

Status SqlTx::set_queue_status(const MessageId& id, QueueStatus status,
                               const std::optional<std::string>& reason, base::Time now) {
    const std::int64_t tries = status == QueueStatus::Claimed ? 1 : 0;
    const std::int64_t changed =
        TRY(change("UPDATE queue_entries SET status = $2, tries = tries + $3, reason = $4, "
                   "updated_at = $5 WHERE message_id = $1",
                   {id, base::enum_name(status), tries, reason, to_micros(now)}));
    if (changed == 0) return fail(ErrorCode::NotFound, "there is no message {}", id);
    return {};
}

Result<std::int64_t> SqlTx::count_failure(const MessageId& id, const std::string& reason,
                                          base::Time now) {
    if (TRY(change("UPDATE queue_entries SET failures = failures + 1, reason = $2, "
                   "updated_at = $3 WHERE message_id = $1",
                   {id, reason, to_micros(now)})) == 0)
        return fail(ErrorCode::NotFound, "there is no message {}", id);
    return number("SELECT failures FROM queue_entries WHERE message_id = $1", {id});
}

Result<std::vector<store::QueuedMessage>> SqlTx::pending_interjections(const AgentId& agent,
                                                                       std::int64_t limit) {
    std::vector<store::QueuedMessage> list;
    for (auto& numbered : TRY(queued_messages(
             HOLON_QUEUED_COLUMNS
             "FROM queue_entries q JOIN messages m ON m.id = q.message_id "
             "WHERE q.agent_id = $1 AND q.priority = $2 "
             "AND q.status IN ('interrupted', 'queued') ORDER BY q.status, q.seq LIMIT $3",
             {agent, static_cast<std::int64_t>(domain::Priority::Interject), bounded(limit)})))
        list.push_back(std::move(numbered.record));
    return list;
}

Result<std::int64_t> SqlTx::pending_count(const AgentId& agent) {
    return number(
        "SELECT COUNT(*) FROM queue_entries "
        "WHERE agent_id = $1 AND status IN ('interrupted', 'queued')",
        {agent});
}

Result<std::int64_t> SqlTx::pending_count_of(const AgentId& agent, const std::string& sender) {
    return number(
        "SELECT COUNT(*) FROM queue_entries WHERE agent_id = $1 AND sender = $2 "
        "AND status IN ('interrupted', 'queued')",
        {agent, sender});
}

Result<std::vector<AgentId>> SqlTx::agents_with_pending(const AgentId& after, std::int64_t limit) {
    return agents_one_by_one(
        "SELECT agent_id FROM queue_entries WHERE agent_id > $1 "
        "AND status IN ('interrupted', 'queued') ORDER BY agent_id LIMIT 1",
        after.value, limit);
}

}  // namespace sql
