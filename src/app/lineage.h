// Whose settings hold for an agent: those of the named agent at the top, also for its children.
#pragma once

#include <map>
#include <string>

#include "config/config.h"
#include "domain/ids.h"

namespace app {

// A child has no settings of its own: its sandbox, its execution policy, its gate and what external
// input may make it call are those of the agent at the top of its tree, so that delegating gains
// nothing. Never changed; any thread.
class Lineage {
public:
    explicit Lineage(const config::Config& config);

    // The agent itself, unless it is a child of one that has settings of its own.
    const std::string& settings_of(const domain::AgentId& agent) const;

    // Do the same settings hold for both? Those of config.json for all agents, unless one of them,
    // or the agent at the top of its tree, has its own.
    bool share_settings(const domain::AgentId& one, const domain::AgentId& other) const;

private:
    std::map<std::string, std::string> by_prefix_;  // Of the ids of children.
};

}  // namespace app
