#include "service/local/plan_feed.h"

namespace service {

std::shared_ptr<void> PlanFeed::watch(const domain::RunId& run, Changed changed) {
    auto watcher = std::make_shared<Changed>(std::move(changed));
    const std::lock_guard lock(mutex_);
    for (auto& [name, list] : watchers_)
        std::erase_if(list, [](const auto& entry) { return entry.expired(); });
    std::erase_if(watchers_, [](const auto& entry) { return entry.second.empty(); });
    watchers_[run.value].push_back(watcher);
    return watcher;
}

void PlanFeed::publish(const domain::RunId& run, std::int64_t newest_seq) {
    std::vector<std::shared_ptr<Changed>> told;
    {
        const std::lock_guard lock(mutex_);
        const auto found = watchers_.find(run.value);
        if (found == watchers_.end()) return;
        for (const auto& entry : found->second)
            if (auto watcher = entry.lock()) told.push_back(std::move(watcher));
    }
    for (const auto& watcher : told) (*watcher)(newest_seq);
}

}  // namespace service
