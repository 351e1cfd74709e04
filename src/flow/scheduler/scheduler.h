// Brings agents to life when something is due for them, one turn at a time each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "flow/scheduler/open.h"
#include "flow/turn/runner.h"

namespace scheduler {

struct Options {
    std::string model_ref;
    std::optional<std::int64_t> rounds_total{};  // Over all turns this process runs for an agent.
};

// Used on the loop's thread only. Nothing polls: an agent is looked at when it is woken and when a
// turn of it has closed.
class Scheduler {
public:
    Scheduler(turn::Parts parts, Options options);
    ~Scheduler();

    // Takes up every attempt that these agents left open; then each is woken. Call it before
    // anything else is done for them.
    void recover(const std::vector<domain::AgentId>& agents);

    // Something may be due for the agent.
    void wake(const domain::AgentId& agent);

    // Stops the agent's turn and starts no other one in this process: the interrupted message waits
    // for whoever resumes the agent.
    void interrupt(const domain::AgentId& agent, std::string reason);

    // The agent has nothing to do, for the reason given.
    std::function<void(const domain::AgentId&, const std::string& reason)> on_rest;
    // A commit failed: nothing more is done for the agent in this process, and nothing is lost.
    std::function<void(const domain::AgentId&, const base::Error&)> on_stuck;
    std::function<void(const domain::AgentId&, std::string_view)> on_text;

private:
    void tick(const domain::AgentId& agent);
    void ticked(const domain::AgentId& agent, Outcome outcome);

    turn::Parts parts_;
    Options options_;
    turn::Runner runner_;
    std::set<domain::AgentId> ticking_;
    std::map<domain::AgentId, std::string> held_;            // Interrupted here, with the reason.
    std::set<domain::AgentId> wanted_;                       // Woken while a tick was on its way.
    std::map<domain::AgentId, std::int64_t> rounds_before_;  // total_model_rounds when first seen.
    std::shared_ptr<Scheduler*> self_;
};

}  // namespace scheduler
