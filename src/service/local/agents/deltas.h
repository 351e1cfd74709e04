// Who watches what agents are doing right now. Nothing is kept: a delta reaches those who watch
// when it comes, and is gone.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "domain/ids.h"
#include "provider/provider.h"
#include "service/service.h"

namespace service {

// Any thread may use it.
class Deltas {
public:
    using Changed = std::function<void(const Delta&)>;

    // Watches until the token is dropped; a call that has begun by then may still arrive.
    [[nodiscard]] std::shared_ptr<void> watch(const std::string& agent, Changed changed);
    bool is_watched(const domain::AgentId& agent);
    // Calls those who watch the agent, on this thread.
    void publish(const domain::AgentId& agent, const Delta& delta);
    // The same for those who watch any agent.
    void publish_to_all(const Delta& delta);

private:
    std::mutex mutex_;
    std::map<std::string, std::list<std::weak_ptr<Changed>>> watchers_;
};

// What comes from a model, as those who watch receive it.
Delta delta_of(const provider::News& news);

}  // namespace service
