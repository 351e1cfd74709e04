// Writes the digest of a compaction: the operator's words to the letter, and a line for each file,
// call, failure, decision and question. Deterministic: the same pieces give the same lines.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/context/compaction.h"
#include "agent/context/conversation.h"

namespace context {

// The reason of a continuation prompt that says which patches the operator undid.
inline constexpr std::string_view kPatchesUndone = "operator_undo";

// Finds the call of a round by the provider's name for it; null when it is not on record.
using CallOf = std::function<const domain::ToolExecution*(const std::string& tool_use_id)>;

// Adds what is worth keeping of one covered piece. `only_for`: see DigestLine.
void add_to_digest(Compaction& out, const Piece& piece,
                   const std::optional<domain::MessageId>& only_for, const CallOf& call_of);

// Brings the digest to its bounds and removes lines that belong to other turns than that of
// `message`. `target_tokens` is that of the whole prompt.
void bound_digest(Compaction& out, const domain::MessageId& message, std::int64_t target_tokens);

// Does the operator or the runtime itself ask for the turn of this message?
bool is_trusted(const domain::Message& message);

}  // namespace context
