#include "flow/scheduler/slots.h"

namespace scheduler {

Slots::Slots(std::size_t per_provider, std::function<bool(const domain::AgentId&)> is_parked)
    : per_provider_(per_provider), is_parked_(std::move(is_parked)) {}

std::map<std::string, std::size_t> Slots::used() const {
    std::map<std::string, std::size_t> used;
    for (const auto& [agent, provider] : taken_)
        if (!is_parked_(agent)) ++used[provider];
    return used;
}

std::set<std::string> Slots::full() const {
    std::set<std::string> full;
    for (const auto& [provider, count] : used())
        if (count >= per_provider_) full.insert(provider);
    return full;
}

void Slots::take(const domain::AgentId& agent, const std::string& provider) {
    taken_.insert_or_assign(agent, provider);
}

void Slots::wait(const domain::AgentId& agent, const std::string& provider) {
    lines_[provider].push_back(agent);
}

void Slots::forget_waiting() {
    lines_.clear();
}

std::optional<domain::AgentId> Slots::release(const domain::AgentId& agent) {
    const auto slot = taken_.extract(agent);
    return slot ? next(slot.mapped()) : std::nullopt;
}

std::optional<domain::AgentId> Slots::next_for_slot_of(const domain::AgentId& agent) {
    const auto slot = taken_.find(agent);
    return slot == taken_.end() ? std::nullopt : next(slot->second);
}

std::vector<domain::AgentId> Slots::next_for_free() {
    const auto full = this->full();
    std::vector<std::string> free;
    for (const auto& [provider, line] : lines_)
        if (!full.contains(provider)) free.push_back(provider);
    std::vector<domain::AgentId> agents;
    for (const auto& provider : free)
        if (auto agent = next(provider)) agents.push_back(std::move(*agent));
    return agents;
}

std::optional<domain::AgentId> Slots::next(const std::string& provider) {
    const auto line = lines_.find(provider);
    if (line == lines_.end()) return std::nullopt;
    auto agent = std::move(line->second.front());
    line->second.pop_front();
    if (line->second.empty()) lines_.erase(line);
    return agent;
}

void Claims::set_used(std::map<std::string, std::size_t> used) {
    const std::scoped_lock lock(counts_->mutex);
    counts_->used = std::move(used);
}

std::shared_ptr<void> Claims::claim(const std::string& provider) {
    const std::scoped_lock lock(counts_->mutex);
    const auto used = counts_->used.find(provider);
    auto& claimed = counts_->claimed[provider];
    if ((used == counts_->used.end() ? 0 : used->second) + claimed >= per_provider_) {
        if (claimed == 0) counts_->claimed.erase(provider);
        return nullptr;
    }
    ++claimed;
    return {counts_.get(), [counts = counts_, provider](void*) {
                const std::scoped_lock held(counts->mutex);
                if (--counts->claimed[provider] == 0) counts->claimed.erase(provider);
            }};
}

bool Claims::has_any(const std::string& provider) const {
    const std::scoped_lock lock(counts_->mutex);
    return counts_->claimed.contains(provider);
}

}  // namespace scheduler
