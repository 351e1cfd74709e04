// Loads what a compaction is made of, and makes it.
#pragma once

#include "agent/context/conversation.h"
#include "agent/context/digest.h"
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
    context::FilesNow files_now{};
};

// The conversation of an open attempt as it stands in the record.
base::Result<context::Past> past_of(store::Tx& tx, const domain::Attempt& attempt);

// The files whose content the compaction of an open attempt, or of an agent that has none, compares
// with what its calls recorded.
base::Result<std::vector<context::KnownFile>> files_of(store::Tx& tx, const domain::RunId& run);
base::Result<std::vector<context::KnownFile>> files_of_idle(store::Tx& tx,
                                                            const domain::AgentId& agent);

// What is in these files now. One that is too large, cannot be read or lies behind a link is left
// out. Blocks on the file system: neither on the loop nor inside a transaction.
context::FilesNow read_files(const std::vector<context::KnownFile>& files);

// The compaction that the state of the attempt asks for. Only reads.
base::Result<Compacted> gather(store::Tx& tx, const CompactionInput& input);

// The same with the files as they are now, which it reads between two transactions. Blocks.
base::Result<Compacted> prepare_compaction(store::Store& store, CompactionInput input);

// The compaction of an agent that has no open turn, as small as one usually becomes. Only reads.
base::Result<context::Compaction> gather_idle(store::Tx& tx, const domain::Agent& agent,
                                              const context::FilesNow& files_now, base::Time now);

}  // namespace turn
