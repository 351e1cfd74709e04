// Named agents, on made-up time: work items that continue by themselves, prompts and
// interjections during turns, timer storms, bursts of hints, control in the midst of calls, and a
// crash at any commit of it.
#pragma once

#include "tests/sim/simulation.h"

namespace sim {

// A client of each agent goes through a fixed list of actions, again and again across crashes until
// each has been acknowledged. Then everything is resumed, and the runtime runs until nothing is
// due. Invariants, in addition to those of simulate(): no wait is left open whose message is gone
// or that has fired for nothing, except those of blocked work items; no hint is left; no work item
// is lost, made twice or left runnable, unless the last turn failed; no agent sleeps with input it
// could take; each prompt is answered, interjected or dropped with a reason, once; each timer has
// fired as often as it says; each brief that leaves the program reaches the operator under one id
// with the same bytes, and none does that is not on record.
Outcome simulate_lifecycle(const Setup& setup);

}  // namespace sim
