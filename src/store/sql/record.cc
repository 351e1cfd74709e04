#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::Brief;
using domain::Event;
using domain::TranscriptEntry;

// Records are encoded before they take a number: one that cannot be stored must leave no gap, even
// when the work that tried continues.

Result<std::int64_t> SqlTx::append_event(const AgentId& agent, const Event& event) {
    const auto text = TRY(encode(event));
    const std::int64_t event_seq = TRY(next_seq(agent, "event"));
    TRY(change("INSERT INTO events (agent_id, event_seq, record) VALUES ($1, $2, $3)",
               {agent, event_seq, text}));
    return event_seq;
}

Result<std::vector<Event>> SqlTx::events(const AgentId& agent, const store::Page& page) {
    auto numbered = TRY(page_of<Event>(
        "SELECT event_seq, record FROM events WHERE agent_id = $1 AND event_seq > $2 "
        "AND event_seq < $3 ORDER BY event_seq LIMIT $4",
        "SELECT event_seq, record FROM events WHERE agent_id = $1 AND event_seq > $2 "
        "AND event_seq < $3 ORDER BY event_seq DESC LIMIT $4",
        agent, page));
    std::vector<Event> events;
    events.reserve(numbered.size());
    for (auto& [event_seq, event] : numbered) {
        event.event_seq = event_seq;  // The column owns it; the record was written before it.
        events.push_back(std::move(event));
    }
    return events;
}

Result<std::int64_t> SqlTx::last_event_seq(const AgentId& agent) {
    return head_of(agent, "event");
}

Status SqlTx::append_transcript(const TranscriptEntry& entry) {
    const auto shared = TRY(share(entry.agent_id.value, base::to_json(entry)));
    const std::int64_t seq = TRY(next_seq(entry.agent_id, "transcript"));
    TRY(
        change("INSERT INTO transcript (agent_id, seq, related_message_id, record) "
               "VALUES ($1, $2, $3, $4)",
               {entry.agent_id, seq, entry.related_message_id, shared.text}));
    if (shared.bodies.empty()) return {};
    return keep_bodies(entry.agent_id, entry_owner(seq), shared.bodies);
}

Result<std::vector<store::Numbered<TranscriptEntry>>> SqlTx::transcript(const AgentId& agent,
                                                                        const store::Page& page) {
    return page_of<TranscriptEntry>(
        "SELECT seq, record FROM transcript WHERE agent_id = $1 AND seq > $2 AND seq < $3 "
        "ORDER BY seq LIMIT $4",
        "SELECT seq, record FROM transcript WHERE agent_id = $1 AND seq > $2 AND seq < $3 "
        "ORDER BY seq DESC LIMIT $4",
        agent, page);
}

Result<std::vector<TranscriptEntry>> SqlTx::transcript_of(const MessageId& message) {
    return whole(
        records<TranscriptEntry>("SELECT record FROM transcript WHERE related_message_id = $1 "
                                 "ORDER BY seq LIMIT $2",
                                 {message, kListRowsMax + 1}));
}

Status SqlTx::append_brief(const Brief& brief) {
    const auto text = TRY(encode(brief));
    const std::int64_t seq = TRY(next_seq(brief.agent_id, "brief"));
    TRY(change("INSERT INTO briefs (agent_id, seq, record) VALUES ($1, $2, $3)",
               {brief.agent_id, seq, text}));
    return {};
}

Result<std::vector<store::Numbered<Brief>>> SqlTx::briefs(const AgentId& agent,
                                                          const store::Page& page) {
    return page_of<Brief>(
        "SELECT seq, record FROM briefs WHERE agent_id = $1 AND seq > $2 AND seq < $3 "
        "ORDER BY seq LIMIT $4",
        "SELECT seq, record FROM briefs WHERE agent_id = $1 AND seq > $2 AND seq < $3 "
        "ORDER BY seq DESC LIMIT $4",
        agent, page);
}

}  // namespace sql
