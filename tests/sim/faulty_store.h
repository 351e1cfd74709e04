// A store that dies on cue: the process, the power, or the disk. It runs every other work twice and
// undoes the first time, because work handed to a store must bear that.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/sql/sqlite/sqlite_store.h"
#include "store/store.h"

namespace sim {

// Thrown through the runtime where a real process would simply be gone.
struct Crash {};

enum class Fault {
    None,
    CrashBeforeCommit,  // The work ran, nothing of it is stored.
    CrashAfterCommit,   // It is stored, and the caller does not learn of it.
    PowerLoss,          // After the commit, and with it go all commits since the last one to disk.
    CommitFails,        // The caller gets an error, as with a full disk.
};

// When to fail: at the `at`-th commit of this store, counted from 1.
struct FaultPlan {
    Fault fault{Fault::None};
    std::int64_t at{0};
};

class FaultyStore;

// Holds the database across crashes. A store made from it is one process's view; it is destroyed
// before the disk is. One at a time: the next one starts with what the last one has stored.
class Disk {
public:
    Disk();
    std::unique_ptr<store::Store> open(FaultPlan plan);
    std::int64_t commits() const { return commits_; }  // Of the store opened last.
    // Now, and not behind a commit. A store that is open does not notice; the next one does.
    void lose_power();

private:
    friend class FaultyStore;
    std::string bytes_;           // The database, without what `open_` has stored.
    std::string synced_bytes_;    // The database after a power cut.
    FaultyStore* open_{nullptr};  // The store opened last, while it exists and has power.
    std::int64_t commits_{0};
};

}  // namespace sim
