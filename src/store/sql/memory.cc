#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::ContextEpisode;
using domain::WorkingMemory;

Result<WorkingMemory> SqlTx::working_memory(const AgentId& agent) {
    auto memory = TRY(memories_.get(agent, [&] {
        return record<WorkingMemory>("SELECT record FROM working_memory WHERE agent_id = $1",
                                     {agent});
    }));
    if (!memory) return WorkingMemory{.agent_id = agent};
    return *std::move(memory);
}

Status SqlTx::put_working_memory(const WorkingMemory& memory) {
    memories_.forget(memory.agent_id);
    TRY(
        change("INSERT INTO working_memory (agent_id, record) VALUES ($1, $2) "
               "ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record",
               {memory.agent_id, TRY(encode(memory))}));
    return {};
}

Status SqlTx::append_episode(const ContextEpisode& episode) {
    const auto text = TRY(encode(episode));
    const std::int64_t seq = TRY(next_seq(episode.agent_id, "episode"));
    const auto added =
        TRY(change("INSERT INTO episodes (agent_id, seq, id, record) VALUES ($1, $2, $3, $4) "
                   "ON CONFLICT DO NOTHING",
                   {episode.agent_id, seq, episode.id, text}));
    if (added == 1) return {};
    return base::fail(base::ErrorCode::Conflict, "episode {} exists already", episode.id);
}

Result<std::vector<store::Numbered<ContextEpisode>>> SqlTx::episodes(const AgentId& agent,
                                                                     const store::Page& page) {
    return page_of<ContextEpisode>(
        "SELECT seq, record FROM episodes WHERE agent_id = $1 AND seq > $2 AND seq < $3 "
        "ORDER BY seq LIMIT $4",
        "SELECT seq, record FROM episodes WHERE agent_id = $1 AND seq > $2 AND seq < $3 "
        "ORDER BY seq DESC LIMIT $4",
        agent, page);
}

}  // namespace sql
