// The seam to durable facts: typed operations, grouped into transactions.
//
// Everything durable moves the same way: load, decide and write inside one function handed to
// write(); the effects that the decision asks for are performed after write() has reported success.
// The function sees a state that nobody else changes meanwhile; all of it is committed or nothing.
//
// Backends implement it (sql/sqlite; PostgreSQL later); store/conformance.h is the promise that
// every backend is tested against.
#pragma once

#include <functional>

#include "store/records/agents.h"
#include "store/records/attempts.h"
#include "store/records/gate.h"
#include "store/records/history.h"
#include "store/records/memory.h"
#include "store/records/messages.h"
#include "store/records/notifications.h"
#include "store/records/plans.h"
#include "store/records/retention.h"
#include "store/records/tasks.h"
#include "store/records/waiting.h"
#include "store/records/work.h"

namespace store {

// What a commit survives. Process: this program dying at any moment. Disk: a power cut, too.
// Commits keep their order in both cases: a later one never survives an earlier one.
enum class Durability { Process, Disk };

// The operations of one transaction, by record family (store/records/). A function that needs one
// family takes that family. Used only inside the work that received it, on the thread it runs on.
//
// A read that finds nothing is empty, not an error. An operation that fails dooms the transaction:
// every later operation fails with the same error, and so does write(), even when the work ignores
// it. (An SQL server would have aborted the transaction.) NotFound of a put_*() is the exception:
// nothing was changed, and the work may continue.
class Tx : public AgentRecords,
           public WorkspaceRecords,
           public MessageRecords,
           public AttemptRecords,
           public OutboxRecords,
           public HistoryRecords,
           public MemoryRecords,
           public WaitRecords,
           public WakeRecords,
           public TaskRecords,
           public WorkRecords,
           public NotificationRecords,
           public PlanRecords,
           public GateRecords,
           public RetentionRecords {
public:
    // The commit survives at least what `durability` says, and what write() asked for. May be
    // called at any time before the work returns.
    virtual void require(Durability durability) = 0;
    virtual Durability durability() const = 0;
};

// Loads, decides and writes. It may be run more than once (a store that lost a race with another
// process starts it again), so it changes nothing outside its transaction except a result that each
// execution overwrites whole, and keeps what it captured.
using Work = std::move_only_function<Status(Tx&)>;

// One database. Any thread may call, but not from inside a Work (that is a Bug).
class Store {
public:
    virtual ~Store() = default;

    // Executes `work` alone, in the order of the calls, and commits it. Blocks until the commit is
    // as durable as `durability` and the work required, and returns success; or returns the error
    // of the work or of the commit, and nothing was changed. Unavailable and Io may pass (a lock
    // held by another process, a full disk); Corrupt does not. Calls made at the same time share
    // one trip to the disk. The work may run on another thread; what it throws undoes it and leaves
    // write().
    virtual Status write(Durability durability, Work work) = 0;

    // The same without blocking. `done` is called exactly once with what write() would return, on a
    // thread of the store or before write_async() returns; it must not throw. An exception of the
    // work arrives as Internal. `work` is destroyed before `done` is called.
    virtual void write_async(Durability durability, Work work,
                             std::move_only_function<void(Status)> done) = 0;

    // Executes `work` on a consistent snapshot, concurrently with the writer, on the calling
    // thread. Operations that would change something are Refused. Blocks: never called on the loop.
    virtual Status read(Work work) = 0;

    // Gives back memory that only makes the next work faster. For a store that is idle: work
    // that runs meanwhile is not disturbed, and what it uses is kept. Any thread but the loop's.
    virtual void release_memory() {}
};

}  // namespace store
