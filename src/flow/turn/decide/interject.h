// What a trusted operator says while a turn runs enters that turn at its next safe point: before a
// new model round, when every call has its result.
#pragma once

#include "flow/turn/decide/decide.h"
#include "store/store.h"

namespace turn {

inline constexpr std::int64_t kInterjectionsPerRoundMax = 16;

// May it enter a running turn? For anyone but a trusted operator, Interject is a place in the queue
// and nothing more.
bool is_interjection(const domain::Message& message);

base::Result<std::vector<domain::Message>> waiting_interjections(store::Tx& tx,
                                                                 const domain::AgentId& agent);

// Adds what is waiting to a step that asks for a new round. A round that is asked again, after a
// restart or a wait, stays the question it was.
void take_interjections(Step& step, const Facts& facts);

}  // namespace turn
