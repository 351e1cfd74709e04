// What a turn knows about its work item beyond the conversation.
#pragma once

#include "flow/turn/decide/decide.h"
#include "store/store.h"

namespace turn {

// Kept free of the prompt budget when a reminder is added.
inline constexpr std::int64_t kPromptReserveTokens = 256;

// Adds the reminder of a work item that nobody has updated for many rounds to a step that asks for
// another round, with its event. `room` is how many estimated tokens the prompt may still grow by;
// without that much the reminder is skipped and tried again a round later.
base::Status remind(store::Tx& tx, Step& step, const work::Settings& settings,
                    std::optional<std::int64_t> room);

// What a tool that completes a work item has to know of the round that it is called in:
// `has_report`, whether the round has text for the operator, and `completions`, how many calls of
// the round complete an item.
json::object round_context(const Facts& facts, const SpecOf& spec_of);

}  // namespace turn
