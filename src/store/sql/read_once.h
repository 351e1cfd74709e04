// The records of one kind that a transaction has read, by their agent. A decision, its checks and
// its events ask for the same few again and again, and reading one is mostly decoding it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "domain/ids.h"

namespace sql {

template <class T>
class ReadOnce {
public:
    // What `read` returns, or returned before.
    template <class Read>
    base::Result<std::optional<T>> get(const domain::AgentId& agent, Read read) {
        if (const auto known = records_.find(agent.value); known != records_.end())
            return known->second;
        auto record = TRY(read());
        if (records_.size() >= kKeptMax) records_.clear();
        return records_.emplace(agent.value, std::move(record)).first->second;
    }
    // To be called with each change of the agent's record: the next get() reads it as it is stored.
    void forget(const domain::AgentId& agent) { records_.erase(agent.value); }

private:
    // Lists of all agents gain nothing, and must not hold them all.
    static constexpr std::size_t kKeptMax = 16;

    std::map<std::string, std::optional<T>, std::less<>> records_;
};

}  // namespace sql
