#include "tests/sim/simulation.h"

#include <algorithm>
#include <set>

#include "flow/scheduler/scheduler.h"
#include "tests/sim/invariants.h"
#include "tests/sim/life.h"

namespace sim {
namespace {

constexpr int kPromptsPerAgent = 2;

// One life of the program: from its start until all sleep, a crash or a failed commit.
class Process final : public Life {
public:
    using Life::Life;

    // True when both agents fell asleep; false when a commit failed.
    bool run(std::set<std::string>& acknowledged) {
        bool stuck = false;
        scheduler::Scheduler scheduler(parts_, {.model_ref = "scripted/sim"});
        scheduler.on_stuck = [&](const domain::AgentId&, const base::Error&) { stuck = true; };
        tasks_.set_listener(
            {.on_result = [&](const domain::AgentId& agent) { scheduler.wake(agent); },
             .on_stuck = [&](const domain::AgentId&, const base::Error&) { stuck = true; }});
        for (const auto& agent : agents())
            if (!create(agent)) return false;
        tasks_.recover(agents());
        for (const auto& agent : agents()) scheduler.wake(agent);
        for (int prompt = 0; prompt < kPromptsPerAgent; ++prompt)
            for (const auto& agent : agents()) {
                if (!deliver(agent, prompt, acknowledged)) return false;
                scheduler.wake(agent);
                loop_.run_one();  // Prompts arrive while turns are under way.
            }
        loop_.run();
        return !stuck;
    }

private:
    bool deliver(const domain::AgentId& agent, int prompt, std::set<std::string>& acknowledged) {
        const std::string key = fmt::format("{}-{}", agent, prompt);
        if (acknowledged.contains(key)) return true;
        if (!admit(agent, key, domain::Priority::Normal)) return false;
        acknowledged.insert(key);
        return true;
    }
};

}  // namespace

Outcome simulate(const Setup& setup) {
    Outcome outcome;
    Disk disk;
    World world;
    std::set<std::string> acknowledged;
    for (std::size_t life = 0;; ++life) {
        const bool last = life >= setup.plans.size();
        ++outcome.processes;
        Process process(disk, world, last ? FaultPlan{} : setup.plans[life], setup.seed,
                        static_cast<int>(life));
        bool rested = false;
        try {
            rested = process.run(acknowledged);
        } catch (const Crash&) {
        }
        outcome.commits = disk.commits();
        if (!last && setup.plans[life].fault == Fault::PowerLoss) ++world.boot;
        if (!rested) {
            if (last)
                outcome.violations.push_back("a process without faults did not come to an end");
            if (last) return outcome;
            continue;
        }
        // After a power cut the answer to a call may be lost, so the next prompt names another
        // story.
        if (std::ranges::any_of(setup.plans,
                                [](const auto& plan) { return plan.fault == Fault::PowerLoss; }))
            world.changed_prompts.clear();
        check_invariants(process.store(), world, acknowledged, outcome);
        return outcome;
    }
}

}  // namespace sim
