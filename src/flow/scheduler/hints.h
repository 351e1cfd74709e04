// Wake hints: something changed in the world, and the agent may want to check it.
//
// A hint is no message. For an agent that is free it becomes one system tick at once; for any other
// it waits, merged with those that come after it, and becomes one tick when the agent is next free.
#pragma once

#include "agent/identity/facts.h"
#include "flow/ingress/ingress.h"
#include "record/events/events.h"

namespace scheduler {

// How many of the hints that were merged are named; all are counted.
inline constexpr std::size_t kMergedHintsMax = 32;
// A hint as JSON, which is what its tick keeps of it: escaping makes some bodies six times as long.
// The rest of a tick's metadata needs less than what this leaves.
inline constexpr std::size_t kHintBytesMax = ingress::kRuntimeMetadataBytesMax - 128 * 1024;
// Each of the labels that a sender chooses: source, content type, correlation.
inline constexpr std::size_t kHintLabelBytesMax = 1024;

enum class Disposition { Triggered, Coalesced };
BOOST_DESCRIBE_ENUM(Disposition, Triggered, Coalesced)

// May it tick now: neither running, nor held back, nor with other input before it? Pure.
bool is_free(const identity::AgentFacts& facts);

// One hint that stands for both: the newer on top, the newest content kept, the lower trust. Pure.
domain::WakeHint merge(const domain::WakeHint& pending, domain::WakeHint newer);

// InvalidInput for a hint that is too long to become a tick. Pure.
base::Status check_hint(const domain::WakeHint& hint);

// Takes the hint in, in the caller's transaction. The agent must not be stopped. InvalidInput as
// check_hint() says.
base::Result<Disposition> submit(events::Log& log, domain::WakeHint hint);

// Turns the hint that waits into a tick if the agent is free; says whether it did. A hint that no
// tick can be made of (an older program stored it) is quarantined: recorded, and gone.
base::Result<bool> emit_pending(events::Log& log, const identity::AgentFacts& facts);

}  // namespace scheduler
