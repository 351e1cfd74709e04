// What one life of the program is made of: the real runtime on made-up time, a faulty disk and the
// simulated world.
#pragma once

#include <functional>

#include "exec/tasks/host.h"
#include "exec/tools/builtin/commands/shell.h"
#include "exec/tools/dispatcher.h"
#include "flow/turn/runner.h"
#include "provider/chain.h"
#include "tests/sim/faulty_store.h"
#include "tests/sim/world.h"
#include "tests/support/fake_loop.h"

namespace sim {

class Life {
public:
    // Each life starts later than the last one ended.
    // `make_model`: what answers instead of SimModel.
    using MakeModel = std::function<std::shared_ptr<provider::Provider>(base::Loop&)>;
    Life(Disk& disk, World& world, FaultPlan plan, std::uint64_t seed, int life,
         const MakeModel& make_model = {});

    store::Store& store() { return *store_; }

protected:
    // One commit; false when it failed.
    bool commit(const std::function<base::Status(events::Log&)>& work);
    bool create(const domain::AgentId& agent);
    // A prompt of the operator; admitting it twice under one key admits it once.
    bool admit(const domain::AgentId& agent, const std::string& key, domain::Priority priority);

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

private:
    const tools::Registry& with_tools();
};

}  // namespace sim
