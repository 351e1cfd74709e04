// When a turn's prompt is made smaller, and what follows.
#pragma once

#include "flow/turn/decide/decide.h"

namespace turn {

// Keeps `context_tokens` of the attempt: what the provider reported, and estimates of what the step
// adds to the conversation.
void count_context(Step& step, const Event& event);

// Makes a step that asks for another round compact the conversation first, where that is due.
void compact_first(Step& step, const Facts& facts, const Event& event, const Input& input);

// The provider refused the prompt as too long. False when the turn has to be given up.
bool compact_refused(Step& step, const domain::Thinking& state);

}  // namespace turn
