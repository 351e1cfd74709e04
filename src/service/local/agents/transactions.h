// How the parts of the local service read and write: one transaction each, and what follows from it
// on the loop.
#pragma once

#include <functional>

#include "base/os/loop.h"
#include "domain/agent.h"
#include "record/events/committer.h"
#include "store/store.h"

namespace service {

// NotFound for an agent that does not exist or is archived.
base::Result<domain::Agent> known_agent(store::Tx& tx, const domain::AgentId& id);
// NotFound for an agent of which nothing is kept. What an archived one said and did is.
base::Status kept_agent(store::Tx& tx, const domain::AgentId& id);

// The references are the caller's and outlive this. Any thread may call.
class Transactions {
public:
    using Parts = events::Committer::Parts;
    explicit Transactions(Parts parts) : parts_(parts), committer_(parts) {}
    Transactions(const Transactions&) = delete;
    Transactions& operator=(const Transactions&) = delete;

    // One transaction, on disk when it returns; its events are published on the loop afterwards. An
    // Error of `work` or of the store means that nothing was changed.
    base::Status write(const std::function<base::Status(events::Log&)>& work);
    base::Status read(const std::function<base::Status(store::Tx&)>& work) const;
    // Loads in the background and calls `then` once on the loop, unless this is gone by then.
    // `work` captures values only. Called on the loop.
    template <class T>
    void load(std::move_only_function<base::Result<T>(store::Tx&)> work,
              events::Committer::Then<T> then) {
        committer_.load<T>(lifetime_, std::move(work), std::move(then));
    }
    // Runs `job` on the loop, unless this is gone by then.
    void post(base::Job job);

    // The store could not commit a write for a reason that may pass. On the thread of the write;
    // set before the first one.
    std::function<void(const base::Error&)> on_fault;

private:
    Parts parts_;
    events::Committer committer_;
    base::Lifetime lifetime_;
};

}  // namespace service
