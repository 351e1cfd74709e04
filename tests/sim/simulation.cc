#include "tests/sim/simulation.h"

#include <unistd.h>

#include <algorithm>

#include "agent/identity/views.h"
#include "agent/workspace/workspace.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/dispatcher.h"
#include "flow/admission/admission.h"
#include "flow/admission/rejoin.h"
#include "flow/ingress/ingress.h"
#include "flow/scheduler/scheduler.h"
#include "provider/chain.h"
#include "tests/sim/invariants.h"
#include "tests/support/fake_loop.h"

namespace sim {
namespace {

constexpr int kPromptsPerAgent = 2;

// A folder of our own that goes with the process; artifacts of simulated commands land here.
const std::filesystem::path& scratch() {
    static const std::filesystem::path folder = [] {
        auto path = std::filesystem::temp_directory_path() / fmt::format("holon-sim-{}", getpid());
        std::filesystem::create_directories(path);
        return path;
    }();
    return folder;
}

// One life of the program: from start to rest, crash or failed commit.
class Process {
public:
    Process(Disk& disk, World& world, FaultPlan plan, std::uint64_t seed, int life)
        : store_(disk.open(plan)),
          ids_(loop_, seed * 1000 + static_cast<std::uint64_t>(life)),
          processes_(loop_, world),
          shell_(loop_, processes_, {}),
          supervisor_(loop_, loop_, world),
          tasks_({.store = *store_,
                  .loop = loop_,
                  .clock = loop_,
                  .ids = ids_,
                  .feed = feed_,
                  .supervisor = supervisor_,
                  .rejoin = admission::rejoin}),
          provider_({{"scripted/sim", std::make_shared<SimModel>(seed, loop_, world)}},
                    provider::Chain::Parts{loop_, loop_, ids_}),
          dispatcher_({.registry = with_tools(), .clock = loop_, .ids = ids_}),
          parts_{.store = *store_,
                 .loop = loop_,
                 .clock = loop_,
                 .ids = ids_,
                 .provider = provider_,
                 .dispatcher = dispatcher_,
                 .feed = feed_,
                 .home_of = [](const domain::AgentId& agent) { return scratch() / agent.value; }} {
        // Each life starts later than the last one ended.
        loop_.after(std::chrono::hours(life), [] {});
        loop_.run();
    }

    // True when both agents came to rest; false when a commit failed.
    bool run(std::set<std::string>& acknowledged) {
        bool stuck = false;
        scheduler::Scheduler scheduler(parts_, {.model_ref = "scripted/sim"});
        scheduler.on_stuck = [&](const domain::AgentId&, const base::Error&) { stuck = true; };
        tasks_.on_stuck = [&](const domain::AgentId&, const base::Error&) { stuck = true; };
        tasks_.on_result = [&](const domain::AgentId& agent) { scheduler.wake(agent); };
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

    store::Store& store() { return *store_; }

private:
    const tools::Registry& with_tools() {
        registry_.add(builtin::sleep());
        registry_.add(
            builtin::agent_get([](const domain::AgentId& agent) -> base::Result<json::object> {
                return json::object{{"identity", {{"agent_id", agent.value}}}};
            }));
        registry_.add(builtin::enqueue());
        registry_.add(builtin::task_list(tasks_));
        registry_.add(builtin::task_output(tasks_, loop_));
        registry_.add(builtin::task_stop(tasks_));
        registry_.add(builtin::exec_command(shell_, tasks_));
        registry_.add(builtin::exec_command_batch(shell_));
        return registry_;
    }

    bool create(const domain::AgentId& id) {
        return store_
            ->write(store::Durability::Disk,
                    [&](store::Tx& tx) -> base::Status {
                        if (TRY(tx.agent(id))) return {};
                        domain::Agent agent{.agent_id = id, .identity = {.agent_id = id}};
                        agent.active_workspace_entry =
                            workspace::agent_home(id, parts_.home_of(id));
                        return tx.put_agent(agent);
                    })
            .has_value();
    }

    bool deliver(const domain::AgentId& agent, int prompt, std::set<std::string>& acknowledged) {
        const std::string key = fmt::format("{}-{}", agent, prompt);
        if (acknowledged.contains(key)) return true;
        ingress::Raw raw{.agent_id = agent,
                         .origin = domain::OperatorOrigin{},
                         .body = domain::TextBody{"prompt " + key},
                         .surface = domain::DeliverySurface::CliPrompt,
                         .admission = domain::AdmissionContext::LocalProcess};
        const auto message = ingress::receive(std::move(raw), loop_.now(), ids_).value();
        const auto status =
            store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
                events::Log log(tx, loop_.now(), ids_);
                TRY(admission::admit(log, message, key));
                return {};
            });
        if (status) acknowledged.insert(key);
        return status.has_value();
    }

    test_support::FakeLoop loop_;
    std::unique_ptr<store::Store> store_;
    base::RandomIds ids_;
    FakeProcesses processes_;
    builtin::Shell shell_;
    events::Feed feed_;
    SimSupervisor supervisor_;
    tasks::Host tasks_;
    provider::Chain provider_;
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    turn::Parts parts_;
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
            if (last) outcome.violations.push_back("a process without faults did not come to rest");
            if (last) return outcome;
            continue;
        }
        // After a power cut the answer to a call may be lost, so the next prompt tells another
        // story.
        if (std::ranges::any_of(setup.plans,
                                [](const auto& plan) { return plan.fault == Fault::PowerLoss; }))
            world.changed_prompts.clear();
        check_invariants(process.store(), world, acknowledged, outcome);
        return outcome;
    }
}

}  // namespace sim
