// The conversation of an agent, over all its turns, as its transcript has it.
//
// A turn continues the conversation of the turns before it: their prompts and rounds as they were
// sent, so that the bytes of an earlier request begin a later one and caches hit. Two things change
// what was sent: a compaction, whose record replaces the part that it covers, and the end of a turn
// that only untrusted input asked for, which later turns see as a labelled digest, never as text.
#pragma once

#include <string>
#include <vector>

#include "agent/context/past/past.h"
#include "agent/context/plan.h"
#include "provider/provider.h"

namespace context {

// What an image costs at most, as an estimate: servers make larger ones smaller first. Below that,
// an image costs a token for so many pixels.
inline constexpr std::int64_t kImageTokensMax = 1'600;
inline constexpr std::int64_t kPixelsPerToken = 750;

struct Conversation {
    provider::History history{};                        // See provider::Request.
    std::vector<provider::ConversationTurn> current{};  // The rounds of the turn's message.
    std::int64_t rounds_left_out{0};                    // Of the turn's message.
    std::int64_t compression_epoch{0};
    std::int64_t tokens{0};  // An estimate.
};

// The conversation that a turn for `message` continues. Pure.
Conversation conversation_for(const Past& past, const domain::MessageId& message);

// How later turns see the beginning of one that only untrusted input asked for.
std::string digest_head(const domain::Message& message, base::Time at);

// The prompt of a turn, to be kept with the entry of its message: the blocks of that turn alone.
json::array turn_prompt(const provider::PromptFrame& frame);

// For people who read a prompt: a part of the conversation, and what was decided about its parts.
std::string shown(const provider::ConversationTurn& turn);
std::string plan_lines(const std::vector<Decision>& decisions, const Past& past,
                       std::int64_t conversation_tokens);

std::int64_t tokens_of(const provider::ConversationTurn& turn);
std::int64_t tokens_of(const std::vector<provider::PromptBlock>& blocks);

}  // namespace context
