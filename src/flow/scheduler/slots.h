// Which turns use a slot of which provider, and which agents wait for one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/ids.h"

namespace scheduler {

// Each provider has the same number of slots, so that one that does not answer starves no other.
// Used on the loop's thread only. An agent is in one place at a time: it has a slot, waits in one
// line, or is not known here.
class Slots {
public:
    // A turn for which `is_parked` answers true waits for its provider and uses no slot meanwhile.
    Slots(std::size_t per_provider, std::function<bool(const domain::AgentId&)> is_parked);

    // The providers that have no free slot.
    std::set<std::string> full() const;

    // The agent has a slot of the provider until it is released, whether or not one was free.
    void take(const domain::AgentId& agent, const std::string& provider);
    // The agent waits behind those that already wait for the provider.
    void wait(const domain::AgentId& agent, const std::string& provider);
    // Nobody waits any longer.
    void forget_waiting();

    // The agent gives its slot back, if it has one. Returns the first agent that waits for it,
    // which then waits no longer.
    std::optional<domain::AgentId> release(const domain::AgentId& agent);
    // The agent keeps its slot but does not use it now, because its turn is parked.
    std::optional<domain::AgentId> next_for_slot_of(const domain::AgentId& agent);
    // For each provider that has a free slot, the first agent that waits for it.
    std::vector<domain::AgentId> next_for_free();

private:
    std::optional<domain::AgentId> next(const std::string& provider);

    std::size_t per_provider_;
    std::function<bool(const domain::AgentId&)> is_parked_;
    std::map<domain::AgentId, std::string> taken_;
    std::map<std::string, std::deque<domain::AgentId>> lines_;
};

}  // namespace scheduler
