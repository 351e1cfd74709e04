// Carries runs of plans on a loop that somebody else runs: several at once, each under its lock, so
// that one process carries a run.
//
// Any thread may use one unless a function says otherwise. What it calls back, it calls on the
// loop, and nobody may wait there. Nothing here is the truth: a run whose host dies is taken up
// from its journal.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "flow/plans/session.h"

namespace plans {

// How many runs one process carries at once.
inline constexpr std::size_t kRunsExecutingMax = 64;
// How long calls that are under way may take to end when the process is about to.
inline constexpr std::chrono::seconds kDrainGrace{10};

struct ExecutionCallbacks {
    // Once: the run's first commit here is safe, and whoever finds it open will take it up.
    std::move_only_function<void(const domain::PlanRun&)> on_begun{};
    // Each line of the journal once it is committed.
    std::function<void(const domain::PlanRecord&)> on_record{};
    // Once: the run as it ended, or why it is no longer carried here; it is still open then.
    std::move_only_function<void(base::Result<domain::PlanRun>)> on_end{};
};

// Work of the loop that is no run, while somebody waits for it.
struct Work {
    std::function<void()> stop;  // On the loop. It still comes to its end, soon.
    bool is_stopped{false};      // The loop's.
};

class Host {
public:
    explicit Host(Parts parts);
    ~Host();  // Not while the loop runs. Runs stay open.
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    // From here on this process stays: runs that it begins are taken up again by the next one.
    // Those that the last one left open are taken up now, as there is room.
    base::Status stay();
    bool stays() const { return stays_; }

    // Begins a run, goes on with one that was cut off, or begins another pass over what an ended
    // one has left. Returns the run as it stood when it was taken. Conflict when it is being
    // carried or has nothing left to do, Refused without the approval it needs, Unavailable when
    // kRunsExecutingMax are carried or the process is ending.
    base::Result<domain::PlanRun> execute(const domain::RunId& run, ExecutionCallbacks calls);
    // Ends a run that was cut off and that nobody carries: what was under way gets its result, and
    // nothing more is started.
    base::Result<domain::PlanRun> end(const domain::RunId& run, const std::string& reason,
                                      ExecutionCallbacks calls);

    // Asks a run that is carried here to stop, which ends its calls; `ended` is called when it has.
    // False when it is not carried here; `ended` is dropped then.
    bool cancel(const domain::RunId& run, const std::string& reason,
                std::function<void()> ended = {});
    // Here, by this very process.
    bool is_executing(const domain::RunId& run) const;
    std::size_t executing_count() const;
    domain::PlanTotals totals() const;

    // Posts `begin`, and stops the work if the process is about to end before leave(). Unavailable
    // when it is ending already.
    base::Status attend(const std::shared_ptr<Work>& work, base::Job begin);
    // The work is over. Unavailable when it was stopped. On the loop.
    base::Status leave(const std::shared_ptr<Work>& work);
    std::size_t attended_count() const;

    // Starts nothing more, waits for the calls under way, up to kDrainGrace, and leaves the runs
    // open for the next process; other work is stopped, and has told whoever waits for it when
    // `done` is called, once. On the loop.
    void drain(std::move_only_function<void()> done);

private:
    class Carried;
    class Slot;

    base::Result<Slot> take_slot(const domain::RunId& run);
    base::Result<domain::PlanRun> start(Slot slot, base::Fd lock, StoredRun stored,
                                        ExecutionCallbacks calls);
    std::shared_ptr<Carried> find(const domain::RunId& run) const;
    void run_ended(const domain::RunId& run, base::Result<domain::PlanRun> how);
    void stop(const domain::RunId& run, const std::string& reason,
              const std::function<void()>& ended);
    void give_back(const domain::RunId& run);
    void resume_next();
    void let_all_go();
    void stop_work();
    void check_drained();
    void notify_drained();
    void post(const domain::RunId& run, std::function<void(Carried&)> task);

    Parts parts_;
    std::atomic<bool> stays_{false};
    mutable std::mutex mutex_;
    // Null while a run is being loaded; what is in it is the loop's.
    std::map<std::string, std::shared_ptr<Carried>> executing_;
    std::set<std::shared_ptr<Work>> work_;
    bool is_draining_{false};
    std::atomic<std::int64_t> runs_ended_{0};
    std::atomic<std::int64_t> calls_ended_{0};
    std::vector<domain::RunId> to_resume_;  // Last one first. On the loop.
    std::move_only_function<void()> drained_;
    base::Loop::TimerHandle grace_{base::Loop::TimerHandle::None};
    // Tasks that outlive the host find this expired and do nothing.
    std::shared_ptr<Host*> self_;
};

}  // namespace plans
