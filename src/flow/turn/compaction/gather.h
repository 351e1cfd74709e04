// Loads what a compaction is made of, and makes it.
#pragma once

#include "agent/context/conversation.h"
#include "flow/turn/decide/decide.h"
#include "store/store.h"

namespace turn {

struct CompactionInput {
    domain::AgentId agent_id;
    domain::RunId run_id;
    std::int64_t fixed_tokens{0};  // Of the prompt without its conversation, as an estimate.
    bool is_summary_tried{false};
    std::string summary{};  // What the model answered; empty: nothing.
    std::optional<ContextLimits> limits{};
    base::Time now{};
};

// The conversation of an open attempt as it stands in the record.
base::Result<context::Past> past_of(store::Tx& tx, const domain::Attempt& attempt);

// The compaction that the state of the attempt asks for. Only reads.
base::Result<Compacted> gather(store::Tx& tx, const CompactionInput& input);

// The compaction of an agent that has no open turn, as small as one usually becomes. Only reads.
base::Result<context::Compaction> gather_idle(store::Tx& tx, const domain::Agent& agent,
                                              base::Time now);

}  // namespace turn
