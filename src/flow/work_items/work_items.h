// Commits what agent/work decides: the item, its waits, its reminder and its events, in the
// caller's transaction.
//
// What blocks an item is a wait with an identity: a blocker opens one for an external change,
// `needs_input` one for the operator, a task that outlives its turn one for that task. They end
// with what opened them.
#pragma once

#include "agent/work/decide.h"
#include "domain/agent.h"
#include "domain/message.h"
#include "record/events/events.h"

namespace work_items {

// Stores a new item. InvalidInput when a value is out of bounds.
base::Result<domain::WorkItem> create(events::Log& log, const work::NewItem& made);

// These change an open item of `agent`. NotFound for one that is unknown or belongs to another
// agent, Conflict for one that is completed, InvalidInput for values out of bounds; then nothing
// was changed. Focus is changed in `agent`, which the caller puts.
base::Result<work::Changed> update(events::Log& log, domain::Agent& agent,
                                   const work::Update& change);
base::Result<work::Transition> pick(events::Log& log, domain::Agent& agent,
                                    const work::Pick& change);
// Completing an item again changes nothing and is no error.
base::Result<work::Changed> complete(events::Log& log, domain::Agent& agent,
                                     const work::Complete& change);

// Keeps the report that was given with the completion of an item: its result, and a delivery
// summary. The caller publishes the brief.
base::Status promote(events::Log& log, const work::Promote& report);

// The open item that a turn for `message` is begun for: the one that the message names, else the
// agent's focus; nothing when that is not open.
base::Result<std::optional<domain::WorkItemId>> bind(store::Tx& tx, const domain::Agent& agent,
                                                     const domain::Message& message);

// What the records do not say of the end of a turn.
struct EndInput {
    std::int64_t turns_without_progress_max{work::kTurnsWithoutProgressMax};
    // The plan of the turn's item, as the file is; absent: as it was recorded.
    std::optional<domain::PlanArtifact> plan{};
};
// The turn of `attempt` is over: commits what that means for the item it was begun for, and nothing
// else. Gives the brief that the operator receives when the item led nowhere.
base::Result<std::optional<domain::Brief>> end_turn(events::Log& log, domain::Agent& agent,
                                                    const domain::Attempt& attempt,
                                                    const domain::Message& message,
                                                    const EndInput& input);

}  // namespace work_items
