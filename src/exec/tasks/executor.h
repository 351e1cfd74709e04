// What runs behind a task, by its kind. The record belongs to the Host, which is the same for all.
// Each kind begins in its own way, and what it shows is in description.h (docs/decisions/0008).
#pragma once

#include "domain/waiting.h"
#include "exec/tasks/decide.h"
#include "store/store.h"

namespace tasks {

// One implementation for each kind of task; the Host finds it by kind(). All but decide_stop() are
// called on the loop.
class Executor {
public:
    virtual ~Executor() = default;
    virtual domain::TaskKind kind() const = 0;

    // How the record moves when somebody asks the task to stop. Pure; called in a transaction, on
    // any thread.
    virtual StopDecision decide_stop(domain::Task task, base::Time now) const = 0;
    // The stop of this task is committed: ends what runs behind it, at once when `force`. The end
    // arrives as every other end does.
    virtual void stop(const domain::Task& task, bool force) = 0;
    // An earlier process left this task open: reattaches to what runs behind it, or ends the task
    // with what can still be said about it.
    virtual void resume(const domain::Task& task) = 0;
    // Completes a record that is about to be shown with what other records say at this moment. The
    // stored task stays as it is. Called in a transaction that reads, on any thread.
    virtual base::Status refresh(store::Tx& /*tx*/, domain::Task& /*task*/) const { return {}; }
};

}  // namespace tasks
