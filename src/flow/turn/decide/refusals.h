// What is written down of a call that was not made because of who had asked for it.
#pragma once

#include "flow/turn/decide/decide.h"

namespace turn {

// Nothing for any other result: an event for the record and, where the call waits for the operator,
// a brief that says how to answer.
void record_refusal(Step& step, const Facts& facts, const domain::ToolExecution& execution);

}  // namespace turn
