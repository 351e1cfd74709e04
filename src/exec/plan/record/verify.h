// Does a run's folder prove what it says?
#pragma once

#include "exec/plan/record/folder.h"
#include "exec/tools/registry.h"

namespace plan {

struct Verdict {
    // Everything that does not hold, in the order of the records; the first is the first broken
    // link.
    std::vector<std::string> faults{};
    std::int64_t calls{0};
    std::int64_t events{0};
    std::int64_t approved_calls{0};               // Changes that are tied to their approval.
    std::vector<std::string> unknown_outcomes{};  // Step and call of those nobody saw end.
};

// Integrity: the chain over all lines, the hashes of plan, policy, args and data. Pairing: each
// call one result of the same identity, one start and one end among the events. Order: a step's
// calls after the results of the steps it needs. Approval: every call that changes something, under
// a policy that asks for it, has the id of an approval of exactly this plan and policy that
// came before it; what changes something is decided by `registry` where it knows the tool, not by
// the call alone. Claims: what run.json says of the run follows from the plan and the events. A run
// that has not ended may have calls without results.
//
// run.json has no member that is not bound to the chain or to `stored`.
//
// `stored` is the ended run as the store of this home has it, when there is one to compare with: a
// folder that was cut short or written anew differs from it.
Verdict verify(const RunFiles& files, const domain::PlanRun* stored,
               const tools::Registry& registry);

}  // namespace plan
