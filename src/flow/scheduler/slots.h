// Which turns use a slot of which provider, and which agents wait for one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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

    // How many slots of a provider are used now; none for one that is not named.
    std::map<std::string, std::size_t> used() const;
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

// The slots that turns in preparation are going to take. To prepare one costs far more than to see
// that there is no slot for it. Any thread.
class Claims {
public:
    explicit Claims(std::size_t per_provider) : per_provider_(per_provider) {}

    // These slots are used now. Said on the loop whenever that changes, before the claim of a turn
    // that took one is dropped.
    void set_used(std::map<std::string, std::size_t> used);
    // Claims a slot of the provider as long as the result lives; nothing when all are used or
    // claimed.
    std::shared_ptr<void> claim(const std::string& provider);
    bool has_any(const std::string& provider) const;

private:
    struct Counts {
        std::mutex mutex;
        std::map<std::string, std::size_t> used, claimed;
    };
    const std::size_t per_provider_;
    const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace scheduler
