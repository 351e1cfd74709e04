#include "flow/turn/compaction/on_request.h"

#include "agent/context/conversation.h"
#include "domain/events/turn.h"
#include "flow/turn/compaction/gather.h"

namespace turn {
namespace {

// The entry belongs to the newest turn.
base::Result<domain::TranscriptEntry> entry_of(store::Tx& tx, const domain::AgentId& agent,
                                               const context::Compaction& compaction) {
    const auto newest = TRY(tx.transcript(agent, {.limit = 1, .newest_first = true}));
    domain::TranscriptEntry entry{.agent_id = agent,
                                  .kind = domain::TranscriptKind::ContinuationPrompt};
    if (!newest.empty()) {
        entry.run_id = newest.front().record.run_id;
        entry.related_message_id = newest.front().record.related_message_id;
    }
    entry.data = context::compaction_data(compaction, {});
    return entry;
}

}  // namespace

base::Result<RequestedCompaction> compact_now(events::Log& log, const domain::Agent& agent,
                                              domain::AdmissionContext admission,
                                              const context::FilesNow& files_now) {
    auto& tx = log.tx();
    const auto& id = agent.agent_id;
    if (TRY(tx.open_attempt_of(id)))
        return base::fail(base::ErrorCode::Conflict,
                          "agent {} is in a turn, which compacts its conversation by itself; try "
                          "again when the turn has ended",
                          id);
    RequestedCompaction out{.compaction = TRY(gather_idle(tx, agent, files_now, log.now()))};
    const auto& made = out.compaction;
    if (made.tokens_before == 0 || context::has_failed(made)) return out;
    auto entry = TRY(entry_of(tx, id, made));
    entry.id = log.ids().uuid();
    entry.created_at = log.now();
    TRY(tx.append_transcript(entry));
    auto statistics = TRY(tx.statistics(id));
    statistics.compacted_message_count += made.entries;
    statistics.compression_epoch = made.epoch;
    TRY(tx.put_statistics(statistics));
    TRY(log.append(id, domain::events::OperatorCompactionApplied{
                           .agent_id = id,
                           .admission_context = admission,
                           .compacted_rounds = made.rounds,
                           .compacted_entries = made.entries,
                           .shortened_results = std::ssize(made.receipts),
                           .covers_through = made.covers_through,
                           .previous_estimated_tokens = made.tokens_before,
                           .projected_estimated_tokens = made.tokens_after,
                           .compression_epoch = made.epoch}));
    out.is_applied = true;
    return out;
}

}  // namespace turn
