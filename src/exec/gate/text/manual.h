// What a manual tells its reader: a step of a guide, and not an order to the agent that reads the
// result.
#pragma once

#include <string_view>

#include "base/scan/scanner.h"

namespace gate {

// True when all of these hold: the text around the finding has the form of a manual; the sentence
// speaks to no agent, does not press and asks for nothing of the reader's own; what it says to run
// is shown, and nothing in it loads a program, reads credentials or destroys data.
bool is_manual_step(std::string_view text, const scan::Finding& finding);

// Whether the sentence of the finding speaks to an agent, presses, or asks for what the reader
// owns.
bool speaks_to_agent(std::string_view text, const scan::Finding& finding);

}  // namespace gate
