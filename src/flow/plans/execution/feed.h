// Reports to the watchers of a run that its journal has grown, or that it has ended. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "domain/ids.h"

namespace plans {

class Feed {
public:
    using Changed = std::function<void(std::int64_t newest_seq)>;

    // Calls `changed` after each publish() of `run`, on the publishing thread, until the token is
    // dropped; a call that has begun by then may still be running.
    [[nodiscard]] std::shared_ptr<void> watch(const domain::RunId& run, Changed changed);
    // Returns when every watcher of `run` has been called.
    void publish(const domain::RunId& run, std::int64_t newest_seq);

private:
    std::mutex mutex_;
    std::map<std::string, std::vector<std::weak_ptr<Changed>>> watchers_;
};

}  // namespace plans
