// The end of a turn: what the agent keeps in mind of it.
#pragma once

#include "flow/turn/decide/decide.h"
#include "record/events/events.h"

namespace turn {

// How many of the turn's last rounds are read.
inline constexpr std::int64_t kRoundsRemembered = 24;

// Derives working memory from the records as the turn leaves them, raises its revision when it has
// changed, and ends the episode at a boundary. Once per turn, in the commit that closes it.
base::Status remember(events::Log& log, const Facts& facts, const Step& step,
                      const SpecOf& spec_of);

}  // namespace turn
