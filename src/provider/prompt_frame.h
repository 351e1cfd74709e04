// The prompt as the runtime means it, in no vendor's format. It is planned once, stored with its
// turn, and lowered anew by every transport that is asked: what a transport keeps for itself to
// save bytes never reaches it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"

namespace provider {

// How long a piece of the prompt stays the same: for good, until the agent changes, for this turn.
// Caches break at the borders.
enum class Stability { Stable, AgentScoped, TurnScoped };
BOOST_DESCRIBE_ENUM(Stability, Stable, AgentScoped, TurnScoped)

struct PromptBlock {
    Stability stability{Stability::Stable};
    std::string text;
    bool cache_breakpoint{false};  // Everything up to here is worth keeping in a cache.
    friend bool operator==(const PromptBlock&, const PromptBlock&) = default;
};
BOOST_DESCRIBE_STRUCT(PromptBlock, (), (stability, text, cache_breakpoint))

// Whose prompt it is, as caches and continuations need to know it.
struct PromptCache {
    std::string agent_id;
    // Shown to providers. Ordinary turns keep it; it changes with the stable or agent-scoped part
    // of the prompt and with the tools.
    std::string prompt_cache_key;
    // Of the whole prompt, for diagnosis; changes with every input and is never sent.
    std::string context_fingerprint;
    std::int64_t working_memory_revision{0};
    std::int64_t compression_epoch{0};  // Counts compactions: what came before one is rewritten.
    friend bool operator==(const PromptCache&, const PromptCache&) = default;
};
BOOST_DESCRIBE_STRUCT(PromptCache, (),
                      (agent_id, prompt_cache_key, context_fingerprint, working_memory_revision,
                       compression_epoch))

// System text first, most stable first; then the context blocks, which open the conversation as its
// first user message. Without `cache` nothing is cached and nothing continued.
struct PromptFrame {
    std::string system_prompt;  // The system blocks as one text; see join_blocks().
    std::vector<PromptBlock> system_blocks;
    std::vector<PromptBlock> context_blocks;
    std::optional<PromptCache> cache{};
    friend bool operator==(const PromptFrame&, const PromptFrame&) = default;
};
BOOST_DESCRIBE_STRUCT(PromptFrame, (), (system_prompt, system_blocks, context_blocks, cache))

// The texts with a blank line between them, for transports that take one text; empty ones are left
// out. Always UTF-8.
std::string join_blocks(const std::vector<PromptBlock>& blocks);

// Adds a block behind the others.
void add_system_block(PromptFrame& frame, PromptBlock block);

// What a transport makes of a frame. Every transport can send a full request; the others say what
// it does beyond that.
enum class PromptCapability {
    FullRequestOnly,
    PromptCacheKey,
    PromptCacheBlocks,
    IncrementalResponses,
    ContextManagement
};
BOOST_DESCRIBE_ENUM(PromptCapability, FullRequestOnly, PromptCacheKey, PromptCacheBlocks,
                    IncrementalResponses, ContextManagement)

}  // namespace provider
