// Keeps the home within its retention: in the background of a daemon or a run, or all at once for
// an operator who asks.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/os/lifetime.h"
#include "base/os/loop.h"
#include "config/sections/retention.h"
#include "flow/retention/pass.h"
#include "store/store.h"

namespace retention {

// How long the operator of a home that an older program made has before anything is removed.
inline constexpr std::chrono::days kNotice{7};
// Between the end of a pass and the next one, also across restarts.
inline constexpr std::chrono::hours kPassPause{6};
// Between two steps, for the work of agents.
inline constexpr std::chrono::milliseconds kStepPause{50};
// After a step failed: the disk is full, or another process holds the lock.
inline constexpr std::chrono::minutes kFaultPause{5};

struct Parts {
    store::Store& store;
    base::Clock& clock;
    config::Retention settings{};
    std::filesystem::path home;  // Its agents and plans are in folders below it.

    std::filesystem::path agents_folder() const { return home / "agents"; }
};

// Passes over all agents until the disk budget is met: each further pass with a shorter age. One
// thread at a time uses it; what it holds may be lost at any time.
class Pruning {
public:
    Pruning(const Parts& parts, bool dry_run);

    // Does a bounded part. False when all is done; then the outcome is stored, too, unless nothing
    // was to be changed. Fails as the store does, and may be called again. Blocks.
    base::Result<bool> step();

    const store::Removed& removed() const { return removed_; }
    bool is_over_budget() const { return is_over_budget_; }

private:
    base::Status finish(std::int64_t file_bytes);

    Parts parts_;
    bool dry_run_;
    base::Time started_at_;
    int shortenings_{0};
    std::optional<Pass> pass_{};
    store::Removed removed_{};
    bool is_over_budget_{false};
};

// What is stored, what may be, and what becomes of it.
struct Report {
    store::DatabaseSize database{};
    store::RetentionState state{};
    // Nothing is removed unasked before this; only while it lies ahead.
    std::optional<base::Time> waits_until{};
};
// Any thread but the loop's. Blocks.
base::Result<Report> load_report(store::Store& store, base::Time now);

// Removes, or with `dry_run` counts, all that may go now. The operator has asked, so no notice is
// waited for. Blocks for as long as it takes.
base::Result<store::Removed> prune(const Parts& parts, bool dry_run);

// The same in the background, at its time, for as long as this object lives. On the loop; what it
// does in the background uses the store.
class Keeper {
public:
    Keeper(Parts parts, base::Loop& loop);
    ~Keeper();
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    // The first pass begins after `delay`, or when kPassPause is over since the last one of any
    // process. In a home that an older program made, the notice begins at once, and the first pass
    // only counts, and says so. Does nothing when retention is off.
    void start(std::chrono::milliseconds delay);

private:
    struct Plan;

    void check();
    void planned(const Plan& plan);
    void continue_with(std::shared_ptr<Pruning> pruning, bool is_notice);
    void announced(const store::Removed& removed);
    void over(const store::Removed& removed, bool is_over_budget);
    void check_later(std::chrono::microseconds delay);
    void failed(const base::Error& error, std::move_only_function<void()> again);

    Parts parts_;
    base::Loop& loop_;
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
    base::Lifetime lifetime_;
};

}  // namespace retention
