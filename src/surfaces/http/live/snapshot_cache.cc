#include "surfaces/http/live/snapshot_cache.h"

namespace http_surface {

SnapshotCache::SnapshotCache(service::Service& service, base::Loop& loop, Submit submit)
    : service_(service), submit_(std::move(submit)), bell_(std::make_shared<Bell>(loop)) {}

SnapshotCache::~SnapshotCache() {
    bell_->silence();
}

std::shared_ptr<const std::string> SnapshotCache::find(const std::string& agent) const {
    const auto entry = entries_.find(agent);
    if (entry == entries_.end() || !entry->second.body ||
        std::chrono::steady_clock::now() - entry->second.made > kSnapshotAge)
        return nullptr;
    return entry->second.body;
}

std::uint64_t SnapshotCache::generation(const std::string& agent) const {
    const auto entry = entries_.find(agent);
    return entry == entries_.end() ? 0 : entry->second.generation;
}

void SnapshotCache::put(const std::string& agent, std::uint64_t generation,
                        const std::string& body) {
    const auto entry = entries_.find(agent);
    if (entry == entries_.end()) {
        if (entries_.size() < kSnapshotsMax) start_watching(agent);
        return;
    }
    if (!entry->second.watch || entry->second.generation != generation) return;
    entry->second.body = std::make_shared<const std::string>(body);
    entry->second.made = std::chrono::steady_clock::now();
}

void SnapshotCache::forget_all() {
    for (auto& [agent, entry] : entries_) {
        ++entry.generation;
        entry.body.reset();
    }
}

void SnapshotCache::forget(const std::string& agent) {
    const auto entry = entries_.find(agent);
    if (entry == entries_.end()) return;
    ++entry->second.generation;
    entry->second.body.reset();
}

void SnapshotCache::start_watching(const std::string& agent) {
    entries_[agent];
    submit_([this, agent, bell = bell_] {
        auto watch = service_.watch(agent, [this, agent, bell](std::int64_t) {
            bell->post([this, agent] { forget(agent); });
        });
        bell->post([this, agent, watch = std::move(watch)]() mutable {
            forget(agent);
            entries_[agent].watch = std::move(watch);
        });
    });
}

}  // namespace http_surface
