// The real executor, dispatcher, store and service on made-up time, over a disk, a vault and a
// world of tools that survive its crashes.
#pragma once

#include <filesystem>
#include <memory>

#include "exec/tasks/supervisor/fake_for_test.h"
#include "exec/tools/builtin/commands/shell.h"
#include "flow/plans/agents/agent_plans.h"
#include "tests/plans/case_tools.h"
#include "tests/sim/faulty_store.h"
#include "tests/support/fake_loop.h"

namespace plans_test {

// What outlives a process. The folder is gone with this.
class World {
public:
    World();
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    std::filesystem::path home() const { return folder_ / "home"; }
    std::filesystem::path vault() const { return folder_ / "vault"; }
    void put(const std::string& path, const std::string& content) const;
    // Every file and empty folder of the vault; the latter end in '/'.
    std::map<std::string, std::string> files() const;

    sim::Disk disk;
    ToolWorld tools;
    supervisor::FakeMachine machine;
    config::Plans settings{};  // Of lives to come.
    std::uint64_t seed{1};
    int lives{0};

private:
    std::filesystem::path folder_;
};

// Cases start no processes.
class NoProcesses final : public base::ProcessRunner {
public:
    base::Result<std::shared_ptr<Handle>> start(
        base::ProcessSpec, std::move_only_function<void(base::ProcessExit)>) override {
        return base::fail(base::ErrorCode::Unavailable, "cases start no processes");
    }
};

// One process. It dies with sim::Crash where its fault plan says.
class Life {
public:
    explicit Life(World& world, sim::FaultPlan plan = {});
    Life(World& world, std::unique_ptr<store::Store> store);

    plans::Plans& plans() { return plans_; }
    test_support::FakeLoop& loop() { return loop_; }
    store::Store& store() { return *store_; }
    tasks::Host& tasks() { return tasks_; }
    plans::AgentPlans& agent_plans() { return agent_plans_; }
    tools::Registry& registry() { return registry_; }

private:
    const tools::Registry& with_tools(World& world);

    test_support::FakeLoop loop_;
    std::unique_ptr<store::Store> store_;
    base::RandomIds ids_;
    NoProcesses processes_;
    builtin::Shell shell_{loop_, processes_, {}};
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    bool stopped_{false};
    events::Feed feed_;
    supervisor::FakeSupervisor supervisor_;
    tasks::Host tasks_;
    plans::Plans plans_;
    plans::AgentPlans agent_plans_;
};

// Keeps the journal of a run as it is committed. It outlives the calls of seen().
class Recorder {
public:
    plans::Plans::OnRecord seen() {
        return [this](const domain::PlanRecord& record) {
            records.push_back(record);
            if (on_each) on_each(record);
        };
    }
    std::vector<domain::PlanRecord> records;
    std::function<void(const domain::PlanRecord&)> on_each;
};

// The lines of one kind, parsed.
std::vector<json::value> of_kind(const std::vector<domain::PlanRecord>& records,
                                 domain::PlanRecordKind kind);

// What must hold of every journal of a run that has ended, as sentences about what does not: calls
// and results pair one to one, each call starts once and ends once, in that order, and took the
// time between the two.
std::vector<std::string> broken_promises(const std::vector<domain::PlanRecord>& records);

}  // namespace plans_test
