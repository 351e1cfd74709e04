// Who makes the changes that tools ask of the runtime: one row a type of mutation.
#pragma once

#include <map>
#include <typeindex>
#include <vector>

#include "domain/agent.h"
#include "domain/events/payload.h"
#include "domain/message.h"
#include "domain/record.h"
#include "domain/turn.h"
#include "exec/tools/mutation.h"
#include "record/events/events.h"

namespace turn {

using EventDraft = domain::events::Draft;

// What a mutation may change when the step is decided.
struct Decided {
    domain::Agent& agent;
    domain::Attempt& attempt;
    std::vector<EventDraft>& events;
    domain::AgentStatistics& statistics;
    std::vector<domain::Brief>& briefs;
    const domain::Message& message;  // That the turn answers.
    base::Time now{};
};
// What it may use when the step is written.
struct Written {
    events::Log& log;
    domain::Agent& agent;  // Put when every mutation is made.
    const domain::Attempt& attempt;
    const domain::Message& message;  // That the turn answers.
};

// How one type of mutation is made. Either part may be missing.
struct MutationRules {
    // Pure: what follows at once for the agent, the attempt and the record.
    void (*decide)(Decided& step, const tools::Mutation& mutation){nullptr};
    // In the transaction of the step: the rows that belong to other folders.
    base::Status (*write)(Written& step, const tools::Mutation& mutation){nullptr};
};

// The rules of a type. A type without rules is a Bug: a tool that asks for it was added without
// them.
const MutationRules& rules_of(const tools::Mutation& mutation);

// What a notification begins with that a turn sends on the instruction of an external sender.
inline constexpr std::string_view kExternalLabel = "[external input led to this] ";

// The trust that a turn passes on to what it leaves for later: never more than it was given.
domain::TrustLevel trust_passed_on(const domain::Message& message);

}  // namespace turn
