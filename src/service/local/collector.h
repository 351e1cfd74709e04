// Adds up a run from its committed events, for RunResponse.
#pragma once

#include <string>
#include <vector>

#include "domain/events/tools.h"
#include "service/service.h"

namespace service {

class Collector {
public:
    void add(const domain::Event& event);
    // Fills the counters, usage and timeline.
    void fill(RunResponse& response) const;
    // Calls that may have changed files: their results name them.
    const std::vector<std::string>& patch_calls() const { return patch_calls_; }
    // Tasks that began or ended, each once.
    const std::vector<std::string>& tasks() const { return tasks_; }

private:
    void add_task(const domain::TaskId& id);
    void add_call(const domain::events::ToolFinished& call);

    RunResponse totals_;
    CacheSummary cache_;
    bool cache_reported_{false};
    domain::AttemptTimeline timeline_;
    std::vector<std::string> patch_calls_;
    std::vector<std::string> tasks_;
};

}  // namespace service
