// Tells whoever watches a run that its journal has grown, or that it has ended. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "domain/ids.h"

namespace service {

class PlanFeed {
public:
    using Changed = std::function<void(std::int64_t newest_seq)>;

    // Until the token is dropped; a call that has begun by then may still be on its way.
    [[nodiscard]] std::shared_ptr<void> watch(const domain::RunId& run, Changed changed);
    void publish(const domain::RunId& run, std::int64_t newest_seq);

private:
    std::mutex mutex_;
    std::map<std::string, std::vector<std::weak_ptr<Changed>>> watchers_;
};

}  // namespace service
