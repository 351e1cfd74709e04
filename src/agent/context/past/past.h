// What an agent's turns have said so far, as its transcript has it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/context/compaction.h"
#include "domain/message.h"
#include "domain/record.h"
#include "provider/provider.h"
#include "store/store.h"

namespace context {

class RecentPasts;

// How much of a conversation that nothing has compacted a turn continues, where the window of its
// model is not known.
inline constexpr std::int64_t kPastTokensMax = 200'000;

// One entry of the transcript as the conversation needs it.
struct Piece {
    std::int64_t seq{0};
    std::string entry_id{};
    domain::TranscriptKind kind{domain::TranscriptKind::IncomingMessage};
    domain::MessageId message_id;
    domain::RunId run_id;
    std::int64_t round{0};
    base::Time at{};
    std::string reason;                        // Of a continuation prompt or a failure.
    std::optional<domain::Message> message{};  // Of an IncomingMessage.
    std::string digest_head{};  // How the digest of a turn for this untrusted message begins.
    std::optional<provider::ConversationTurn> turn;  // What it adds; of a message, its prompt.
    std::int64_t tokens{0};                          // An estimate.
};

// What one entry adds, or an error for one that is damaged.
base::Result<Piece> piece_of(std::int64_t seq, const domain::TranscriptEntry& entry);

// Oldest first. Copies share them: a long conversation is loaded once and handed on.
using Pieces = std::vector<std::shared_ptr<const Piece>>;

// What was said so far, without what a compaction covers.
struct Past {
    Pieces pieces;
    std::optional<Compaction> compaction{};  // The newest.
    std::int64_t after_seq{0};               // Nothing up to here was loaded.
    bool is_cut{false};                      // There is more than `tokens_max`.
    std::int64_t head{0};                    // The newest entry of the transcript, when loaded.
    std::int64_t rounds_left_out{0};         // Of the message, by what is not in `pieces`.
    std::int64_t tokens{0};                  // Of the pieces, an estimate.
    std::int64_t erasures{0};                // See store::RetentionRecords, when loaded.
    std::uint64_t scan_version{0};           // See scan::version(), when loaded.
};

struct PastInput {
    domain::MessageId message{};  // That of the turn, if there is one already.
    std::int64_t after_seq{0};    // Where the conversation of an open attempt begins.
    std::int64_t tokens_max{kPastTokensMax};
};

// Loads the newest part of the conversation that fits. The oldest piece begins a turn, or follows
// what the compaction covers. What `recent` still has is not read again.
base::Result<Past> load_past(store::Tx& tx, const domain::AgentId& agent, const PastInput& input,
                             RecentPasts* recent = nullptr);

}  // namespace context
