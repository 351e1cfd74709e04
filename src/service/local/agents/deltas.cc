#include "service/local/agents/deltas.h"

#include <algorithm>
#include <vector>

namespace service {

std::shared_ptr<void> Deltas::watch(const std::string& agent, Changed changed) {
    auto watcher = std::make_shared<Changed>(std::move(changed));
    const std::lock_guard lock(mutex_);
    for (auto& [name, list] : watchers_)
        std::erase_if(list, [](const auto& entry) { return entry.expired(); });
    std::erase_if(watchers_, [](const auto& entry) { return entry.second.empty(); });
    watchers_[agent].push_back(watcher);
    return watcher;
}

void Deltas::publish(const domain::AgentId& agent, const Delta& delta) {
    std::vector<std::shared_ptr<Changed>> watching;
    {
        const std::lock_guard lock(mutex_);
        const auto found = watchers_.find(agent.value);
        if (found == watchers_.end()) return;
        for (const auto& entry : found->second)
            if (auto watcher = entry.lock()) watching.push_back(std::move(watcher));
    }
    for (const auto& watcher : watching) (*watcher)(delta);
}

void Deltas::publish_to_all(const Delta& delta) {
    std::vector<std::shared_ptr<Changed>> watching;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [agent, list] : watchers_)
            for (const auto& entry : list)
                if (auto watcher = entry.lock()) watching.push_back(std::move(watcher));
    }
    for (const auto& watcher : watching) (*watcher)(delta);
}

bool Deltas::is_watched(const domain::AgentId& agent) {
    const std::lock_guard lock(mutex_);
    const auto found = watchers_.find(agent.value);
    return found != watchers_.end() &&
           !std::ranges::all_of(found->second, [](const auto& entry) { return entry.expired(); });
}

Delta delta_of(const provider::News& news) {
    if (const auto* text = std::get_if<std::string_view>(&news))
        return {.kind = DeltaKind::Text, .text = std::string(*text)};
    const auto& retry = std::get<provider::Retry>(news);
    return {.kind = DeltaKind::Retry,
            .text = retry.reason,
            .model_ref = retry.model_ref,
            .next_model_ref = retry.next_model_ref,
            .attempt = retry.attempt,
            .max_attempts = retry.attempts_max,
            .wait_ms = retry.wait.count()};
}

}  // namespace service
