// Reading a turn's facts and writing a decided step, inside one transaction.
#pragma once

#include "flow/turn/decide/decide.h"
#include "record/events/events.h"

namespace turn {

// NotFound when there is no such attempt.
base::Result<Facts> load(store::Tx& tx, const domain::RunId& run);

// Writes everything the step says: attempt, agent, calls, record, queue, mutations and the outbox.
// `finished` is the effect that led to it, `input` what was decided with. `plan` is that of the
// turn's item as the file is; absent: as it was recorded. A closed turn also gets its closure and
// the agent's new state on record.
base::Status apply(events::Log& log, const Facts& facts, Step step,
                   const std::optional<Effect>& finished, const Input& input,
                   const std::optional<domain::PlanArtifact>& plan);

// The stable name of an effect: the same one after a restart.
std::string effect_id(const domain::RunId& run, const Effect& effect);
base::Status put_effects(events::Log& log, const domain::Attempt& attempt,
                         const std::vector<Effect>& effects);

// What the last commit of the attempt asked for and nobody has reported.
base::Result<std::vector<Effect>> pending_effects(store::Tx& tx, const domain::Attempt& attempt);

}  // namespace turn
