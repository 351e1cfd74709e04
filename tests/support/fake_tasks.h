// Tasks over commands that only pretend to run.
#pragma once

#include "exec/tasks/host.h"
#include "exec/tasks/supervisor/fake_for_test.h"
#include "flow/admission/rejoin.h"

namespace test_support {

struct FakeTasks {
    FakeTasks(store::Store& store, base::Loop& loop, base::Clock& clock, base::Ids& ids,
              events::Feed& feed)
        : supervisor(loop, machine),
          host({.store = store,
                .loop = loop,
                .clock = clock,
                .ids = ids,
                .feed = feed,
                .supervisor = supervisor,
                .rejoin = admission::rejoin}) {}

    supervisor::FakeMachine machine;
    supervisor::FakeSupervisor supervisor;
    tasks::Host host;
};

}  // namespace test_support
