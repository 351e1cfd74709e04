// Executes runs of plans on a loop that its owner runs: several at once, each under its lock, so
// that one process executes a run.
//
// Any thread may use one unless a function says otherwise. Callbacks are called on the loop and
// must not wait there. Nothing here is the truth: a run whose host dies is resumed from its
// journal.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "flow/plans/execution/session.h"

namespace plans {

// How many runs one process executes at once.
inline constexpr std::size_t kRunsExecutingMax = 64;
// Before a run that could not be loaded for a reason that may pass is loaded again.
inline constexpr std::chrono::seconds kResumeRetry{10};
// How long calls that are under way may take to end when the process is about to.
inline constexpr std::chrono::seconds kDrainGrace{10};

struct ExecutionCallbacks {
    // Once: the run's first commit here is safe; a process that finds it open will resume it.
    std::move_only_function<void(const domain::PlanRun&)> on_begun{};
    // Each line of the journal once it is committed.
    std::function<void(const domain::PlanRecord&)> on_record{};
    // Once: the run as it ended, or why it is no longer executed here; it is still open then.
    std::move_only_function<void(base::Result<domain::PlanRun>)> on_end{};
};

// Work of the loop that is no run, while a caller waits for it.
struct Work {
    std::function<void()> stop;  // On the loop. It still comes to its end, soon.
    bool is_stopped{false};      // The loop's.
};

class Host {
public:
    explicit Host(Parts parts);
    // Not while the loop runs. Waits for runs that are being loaded in the background. Runs stay
    // open.
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    // From here on this process is a daemon: runs that it begins are resumed by the next one. Those
    // that the last one left open are resumed now, in the background, as there is room.
    base::Status stay();
    bool stays() const { return stays_; }

    // Begins a run, resumes one that was cut off, or begins another pass over what an ended one has
    // left. Returns the run as it stood then; `calls` report what follows. Conflict when it is
    // executing or has nothing left to do, Refused without the approval it needs, Unavailable when
    // kRunsExecutingMax are executing or the process is ending. Reads the store and writes files.
    base::Result<domain::PlanRun> execute(const domain::RunId& run, ExecutionCallbacks calls);
    // Ends a run that was cut off and that no process executes: what was under way gets its result,
    // and nothing more is started. Conflict when it is executing or not under way.
    base::Result<domain::PlanRun> end(const domain::RunId& run, const std::string& reason,
                                      ExecutionCallbacks calls);

    // Asks a run that is executed here to stop, which ends its calls; `ended` is called when it has
    // ended. False when it is not executed here; `ended` is dropped then.
    bool cancel(const domain::RunId& run, const std::string& reason,
                std::function<void()> ended = {});
    // By this very process.
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
    // open for the next process; other work is stopped, and its callers have their answers when
    // `done` is called, once. On the loop.
    void drain(std::move_only_function<void()> done);

private:
    struct Start;
    class Execution;
    class Slot;

    base::Result<Slot> take_slot(const domain::RunId& run);
    base::Result<domain::PlanRun> start(Slot slot, base::Fd lock, StoredRun stored,
                                        ExecutionCallbacks calls);
    void begin(const domain::RunId& run, Start start);
    std::shared_ptr<Execution> find(const domain::RunId& run) const;
    void run_ended(const domain::RunId& run, base::Result<domain::PlanRun> how);
    void stop(const domain::RunId& run, const std::string& reason,
              const std::function<void()>& ended);
    void give_back(const domain::RunId& run);
    void resume_next();
    void resumed(const domain::RunId& run, const base::Result<domain::PlanRun>& how);
    void release_all();
    void stop_work();
    void check_drained();
    void notify_drained();
    void post(const domain::RunId& run, std::function<void(Execution&)> job);

    Parts parts_;
    std::atomic<bool> stays_{false};
    mutable std::mutex mutex_;
    // Null while a run is being loaded; an Execution is the loop's.
    std::map<std::string, std::shared_ptr<Execution>> executing_;
    std::set<std::shared_ptr<Work>> work_;
    bool is_draining_{false};
    std::atomic<std::int64_t> runs_ended_{0};
    std::atomic<std::int64_t> calls_ended_{0};
    std::vector<domain::RunId> to_resume_;  // Last one first. On the loop, as is the next.
    bool is_resuming_{false};
    std::move_only_function<void()> drained_;
    base::Loop::TimerHandle grace_{base::Loop::TimerHandle::None};
    base::Lifetime lifetime_;  // Last: it ends first.
};

}  // namespace plans
