#include "flow/plans/execution/feed.h"

namespace plans {

std::shared_ptr<void> Feed::watch(const domain::RunId& run, Changed changed) {
    auto watcher = std::make_shared<Changed>(std::move(changed));
    const std::lock_guard lock(mutex_);
    for (auto& [name, list] : watchers_)
        std::erase_if(list, [](const auto& entry) { return entry.expired(); });
    std::erase_if(watchers_, [](const auto& entry) { return entry.second.empty(); });
    watchers_[run.value].push_back(watcher);
    return watcher;
}

void Feed::publish(const domain::RunId& run, std::int64_t newest_seq) {
    std::vector<std::shared_ptr<Changed>> watching;
    {
        const std::lock_guard lock(mutex_);
        const auto found = watchers_.find(run.value);
        if (found == watchers_.end()) return;
        for (const auto& entry : found->second)
            if (auto watcher = entry.lock()) watching.push_back(std::move(watcher));
    }
    for (const auto& watcher : watching) (*watcher)(newest_seq);
}

}  // namespace plans
