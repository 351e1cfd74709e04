// The conversation of an agent, over all its turns, as its transcript has it.
//
// A turn continues the conversation of the turns before it: their prompts and rounds as they were
// sent, so that the bytes of an earlier request begin a later one and caches hit. Two things change
// what was sent: a compaction, whose record replaces the part that it covers, and the end of a turn
// that only untrusted input asked for, which later turns see as a labelled digest, never as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/context/compaction.h"
#include "agent/context/plan.h"
#include "domain/message.h"
#include "domain/record.h"
#include "provider/provider.h"
#include "store/store.h"

namespace context {

// How much of a conversation that nothing has compacted a turn continues, where the window of its
// model is not known.
inline constexpr std::int64_t kPastTokensMax = 200'000;

// What an image costs at most, as an estimate: servers make larger ones smaller first. Below that,
// an image costs a token for so many pixels.
inline constexpr std::int64_t kImageTokensMax = 1'600;
inline constexpr std::int64_t kPixelsPerToken = 750;

// One entry of the transcript as the conversation needs it.
struct Piece {
    std::int64_t seq{0};
    domain::TranscriptKind kind{domain::TranscriptKind::IncomingMessage};
    domain::MessageId message_id;
    domain::RunId run_id;
    std::int64_t round{0};
    base::Time at{};
    std::string reason;                              // Of a continuation prompt or a failure.
    std::optional<domain::Message> message{};        // Of an IncomingMessage.
    std::optional<provider::ConversationTurn> turn;  // What it adds; of a message, its prompt.
    std::int64_t tokens{0};                          // An estimate.
};

// What one entry adds, or an error for one that is damaged.
base::Result<Piece> piece_of(std::int64_t seq, const domain::TranscriptEntry& entry);

// What was said so far, without what a compaction covers.
struct Past {
    std::vector<Piece> pieces;               // Oldest first.
    std::optional<Compaction> compaction{};  // The newest.
    std::int64_t after_seq{0};               // Nothing up to here was loaded.
    bool is_cut{false};                      // There is more than `tokens_max`.
    std::int64_t head{0};                    // The newest entry of the transcript, when loaded.
    std::int64_t rounds_left_out{0};         // Of the message, by what is not in `pieces`.
};

struct PastInput {
    domain::MessageId message{};  // That of the turn, if there is one already.
    std::int64_t after_seq{0};    // Where the conversation of an open attempt begins.
    std::int64_t tokens_max{kPastTokensMax};
};

// Loads the newest part of the conversation that fits. The oldest piece begins a turn, or follows
// what the compaction covers.
base::Result<Past> load_past(store::Tx& tx, const domain::AgentId& agent, const PastInput& input);

struct Conversation {
    std::vector<provider::ConversationTurn> history{};  // See provider::Request.
    std::vector<provider::ConversationTurn> current{};  // The rounds of the turn's message.
    std::int64_t rounds_left_out{0};                    // Of the turn's message.
    std::int64_t compression_epoch{0};
    std::int64_t tokens{0};  // An estimate.
};

// The conversation that a turn for `message` continues. Pure.
Conversation conversation_for(const Past& past, const domain::MessageId& message);

// The prompt of a turn, to be kept with the entry of its message: the blocks of that turn alone.
json::array turn_prompt(const provider::PromptFrame& frame);

// For people who read a prompt: a part of the conversation, and what was decided about its parts.
std::string shown(const provider::ConversationTurn& turn);
std::string plan_lines(const std::vector<Decision>& decisions, const Past& past,
                       std::int64_t conversation_tokens);

std::int64_t tokens_of(const provider::ConversationTurn& turn);
std::int64_t tokens_of(const std::vector<provider::PromptBlock>& blocks);
std::int64_t tokens_of(const std::vector<provider::ToolDeclaration>& tools);

}  // namespace context
