#include "flow/plans/execution/host.h"

#include <ranges>

#include "agent/identity/agent_lock.h"
#include "base/log/log.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;
using domain::PlanRun;
using domain::PlanRunStatus;

constexpr std::int64_t kResumedMax = 10'000;
constexpr std::chrono::milliseconds kLoading{5};
constexpr std::string_view kEnding = "runtime_ending";

std::string lock_name(const domain::RunId& run) {
    return "run " + run.value;
}

std::unexpected<base::Error> ending(const domain::RunId& run) {
    return std::unexpected(base::Error{
        ErrorCode::Unavailable,
        fmt::format("the daemon is ending; run {} stays open and is resumed when it is back", run),
        std::string(kEnding)});
}

std::unexpected<base::Error> ending() {
    return std::unexpected(base::Error{ErrorCode::Unavailable,
                                       "the daemon is ending; try again when it is back",
                                       std::string(kEnding)});
}

// The run that took `run` back and was not taken back itself.
base::Result<std::optional<domain::RunId>> reverting(store::Tx& tx, const domain::RunId& run) {
    for (const auto& other : TRY(tx.plan_runs_reverting(run)))
        if (other.counts.succeeded > 0 && !TRY(reverting(tx, other.run_id))) return other.run_id;
    return std::nullopt;
}

// What is left of a run builds on what it did; once that is taken back, only the whole plan makes
// sense.
base::Status check_not_reverted(store::Store& store, const domain::RunId& run) {
    std::optional<domain::RunId> other;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        other = TRY(reverting(tx, run));
        return {};
    }));
    if (other)
        return fail(ErrorCode::Conflict,
                    "run {} was taken back by run {}; run its plan anew instead", run, *other);
    return {};
}

}  // namespace

// What a run is started from: values that any thread may make and drop.
struct Host::Start {
    base::Fd lock;
    StoredRun stored;
    ReadyRun ready;
    RunWriter files;
    ExecutionCallbacks calls;
};

// One run under way, with everything that it needs. Made, used and destroyed on the loop.
class Host::Execution {
public:
    Execution(const Parts& parts, Start start, std::atomic<std::int64_t>& calls_ended)
        : calls(std::move(start.calls)),
          calls_ended_(calls_ended),
          lock_(std::move(start.lock)),
          files_(std::move(start.files)),
          journal_(parts.committer(), parts.joins()),
          performer_(parts.dispatcher, start.ready.context.place, start.ready.context.profile),
          continues_(start.stored.run.status == PlanRunStatus::Running),
          runner({.loop = parts.loop,
                  .clock = parts.clock,
                  .dispatcher = parts.dispatcher,
                  .journal = journal_,
                  .performer = performer_,
                  .place = start.ready.context.place,
                  .reports_progress = true},
                 std::move(start.ready.state)) {
        runner.on_commit = [this, feed = parts.feed, &parts](const plan::Commit& commit) {
            files_.add(commit);
            parts.notify_owner(commit.run);
            if (calls.on_begun) std::exchange(calls.on_begun, nullptr)(commit.run);
            for (const auto& record : commit.records) {
                if (record.kind == domain::PlanRecordKind::Result) ++calls_ended_;
                if (calls.on_record) calls.on_record(record);
            }
            feed->publish(commit.run.run_id, commit.run.last_seq);
        };
    }

    void begin() { continues_ ? runner.restart() : runner.begin(); }
    // Others may have the run from here on.
    void release() { lock_ = base::Fd(); }

    ExecutionCallbacks calls;
    std::vector<std::function<void()>> on_gone;

private:
    std::atomic<std::int64_t>& calls_ended_;  // The host's.
    base::Fd lock_;
    RunWriter files_;
    plan::StoreJournal journal_;
    plan::DispatcherPerformer performer_;
    bool continues_;

public:
    plan::Runner runner;  // Last: it uses the rest.
};

// The right to execute one run here, given back unless it is used.
class Host::Slot {
public:
    Slot(Host& host, domain::RunId run) : host_(&host), run(std::move(run)) {}
    Slot(Slot&& other) noexcept
        : host_(std::exchange(other.host_, nullptr)), run(std::move(other.run)) {}
    ~Slot() {
        if (host_) host_->give_back(run);
    }
    // Has the run begin on the loop. False when the process has begun to end meanwhile.
    bool use(Start start) {
        const std::lock_guard lock(host_->mutex_);
        if (host_->is_draining_) return false;
        // Posted under the lock: a cancellation comes after it.
        Host* host = std::exchange(host_, nullptr);
        host->parts_.loop.post(
            host->lifetime_.guard([host, run = run, start = std::move(start)]() mutable {
                host->begin(run, std::move(start));
            }));
        return true;
    }

private:
    Host* host_;

public:
    domain::RunId run;
};

Host::Host(Parts parts) : parts_(std::move(parts)) {}

Host::~Host() {
    parts_.loop.cancel(grace_);
}

base::Result<Host::Slot> Host::take_slot(const domain::RunId& run) {
    const std::lock_guard lock(mutex_);
    if (is_draining_) return ending(run);
    if (executing_.contains(run.value))
        return fail(ErrorCode::Conflict, "run {} is executing already", run);
    if (executing_.size() >= kRunsExecutingMax)
        return std::unexpected(base::Error{
            ErrorCode::Unavailable,
            fmt::format("{} runs are executing, as many as one process may; try again when "
                        "one has ended",
                        kRunsExecutingMax),
            "overloaded"});
    executing_.emplace(run.value, nullptr);
    return Slot(*this, run);
}

void Host::give_back(const domain::RunId& run) {
    {
        const std::lock_guard lock(mutex_);
        executing_.erase(run.value);
        if (!is_draining_) return;
    }
    check_drained();
}

base::Status Host::attend(const std::shared_ptr<Work>& work, base::Job begin) {
    const std::lock_guard lock(mutex_);
    if (is_draining_) return ending();
    work_.insert(work);
    parts_.loop.post(std::move(begin));  // Under the lock: before the job that stops it.
    return {};
}

base::Status Host::leave(const std::shared_ptr<Work>& work) {
    {
        const std::lock_guard lock(mutex_);
        work_.erase(work);
        if (is_draining_) check_drained();
    }
    if (work->is_stopped) return ending();
    return {};
}

std::size_t Host::attended_count() const {
    const std::lock_guard lock(mutex_);
    return work_.size();
}

base::Result<PlanRun> Host::execute(const domain::RunId& run, ExecutionCallbacks calls) {
    auto slot = TRY(take_slot(run));
    auto lock = TRY(identity::lock_folder(parts_.folder(run), lock_name(run)));
    auto stored = TRY(load_run(parts_.store, run));
    TRY(heal_files(parts_, stored));
    if (stored.run.status == PlanRunStatus::Succeeded)
        return fail(ErrorCode::Conflict, "run {} has succeeded; there is nothing left to do", run);
    if (stored.run.status == PlanRunStatus::Cancelled && stored.run.pass == 0)
        return fail(ErrorCode::Conflict, "run {} was rejected; make a new one", run);
    if (!stored.run.is_open()) TRY(check_not_reverted(parts_.store, run));
    TRY(plan::check_approval(stored.run, stored.document, parts_.clock.now()));
    return start(std::move(slot), std::move(lock), std::move(stored), std::move(calls));
}

base::Result<PlanRun> Host::end(const domain::RunId& run, const std::string& reason,
                                ExecutionCallbacks calls) {
    auto slot = TRY(take_slot(run));
    auto lock = TRY(identity::lock_folder(parts_.folder(run), lock_name(run)));
    auto stored = TRY(load_run(parts_.store, run));
    if (stored.run.status != PlanRunStatus::Running)
        return fail(ErrorCode::Conflict, "run {} is not under way: {}", run,
                    base::enum_name(stored.run.status));
    stored.run.cancel_reason = reason;
    return start(std::move(slot), std::move(lock), std::move(stored), std::move(calls));
}

base::Result<PlanRun> Host::start(Slot slot, base::Fd lock, StoredRun stored,
                                  ExecutionCallbacks calls) {
    const domain::RunId run = slot.run;
    stored.run.carrier =
        stays_ || stored.run.owner ? domain::PlanCarrier::Runtime : domain::PlanCarrier::Command;
    auto ready = TRY(ready_run(parts_, stored));
    RunWriter files(parts_, stored);
    PlanRun begun = stored.run;
    if (!slot.use({.lock = std::move(lock),
                   .stored = std::move(stored),
                   .ready = std::move(ready),
                   .files = std::move(files),
                   .calls = std::move(calls)}))
        return ending(run);
    return begun;
}

void Host::begin(const domain::RunId& run, Start start) {
    std::unique_lock lock(mutex_);
    if (is_draining_) {
        executing_.erase(run.value);
        lock.unlock();
        start.lock = base::Fd();
        if (start.calls.on_end) start.calls.on_end(ending(run));
        return notify_drained();
    }
    const auto execution = std::make_shared<Execution>(parts_, std::move(start), calls_ended_);
    executing_[run.value] = execution;
    lock.unlock();
    // Posted: the runner still works on itself when it reports.
    execution->runner.on_ended = [this, run] {
        post(run, [this, run](Execution& one) { run_ended(run, one.runner.state().run); });
    };
    execution->runner.on_stuck = [this, run](const base::Error& error) {
        post(run, [this, run, error](Execution&) { run_ended(run, std::unexpected(error)); });
    };
    execution->begin();
}

void Host::post(const domain::RunId& run, std::function<void(Execution&)> job) {
    parts_.loop.post(lifetime_.guard([this, run, job = std::move(job)] {
        if (const auto execution = find(run)) job(*execution);
    }));
}

std::shared_ptr<Host::Execution> Host::find(const domain::RunId& run) const {
    const std::lock_guard lock(mutex_);
    const auto found = executing_.find(run.value);
    return found == executing_.end() ? nullptr : found->second;
}

bool Host::cancel(const domain::RunId& run, const std::string& reason,
                  std::function<void()> ended) {
    if (!is_executing(run)) return false;
    parts_.loop.post(lifetime_.guard(
        [this, run, reason, ended = std::move(ended)] { stop(run, reason, ended); }));
    return true;
}

void Host::stop(const domain::RunId& run, const std::string& reason,
                const std::function<void()>& ended) {
    const auto execution = find(run);
    if (execution) {
        if (ended) execution->on_gone.push_back(ended);
        return execution->runner.cancel(reason);
    }
    if (!is_executing(run)) {
        if (ended) ended();
        return;
    }
    // It is being loaded on another thread.
    parts_.loop.after(kLoading,
                      lifetime_.guard([this, run, reason, ended] { stop(run, reason, ended); }));
}

bool Host::is_executing(const domain::RunId& run) const {
    const std::lock_guard lock(mutex_);
    return executing_.contains(run.value);
}

domain::PlanTotals Host::totals() const {
    return {.runs_open = static_cast<std::int64_t>(executing_count()),
            .runs_ended = runs_ended_,
            .calls_ended = calls_ended_};
}

std::size_t Host::executing_count() const {
    const std::lock_guard lock(mutex_);
    return executing_.size();
}

// The lock is free before anybody learns that the run has ended.
void Host::run_ended(const domain::RunId& run, base::Result<PlanRun> how) {
    std::shared_ptr<Execution> execution;
    {
        const std::lock_guard lock(mutex_);
        const auto found = executing_.find(run.value);
        execution = std::move(found->second);
        executing_.erase(found);
    }
    execution->release();
    if (how) ++runs_ended_;
    if (!how && how.error().kind != kEnding)
        base::log_warn("run {} is no longer executed here: {}", run, how.error().message);
    if (execution->calls.on_end) execution->calls.on_end(std::move(how));
    for (const auto& gone : execution->on_gone) gone();
    parts_.feed->publish(run, execution->runner.state().run.last_seq);
    resume_next();
    notify_drained();
}

base::Status Host::stay() {
    stays_ = true;
    std::vector<PlanRun> open;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        open = TRY(tx.open_plan_runs(kResumedMax));
        return {};
    }));
    std::vector<domain::RunId> left;
    for (const auto& run : open | std::views::reverse)
        if (run.carrier == domain::PlanCarrier::Runtime || (run.owner && run.approval))
            left.push_back(run.run_id);
    parts_.loop.post(lifetime_.guard([this, left = std::move(left)]() mutable {
        to_resume_ = std::move(left);
        resume_next();
    }));
    return {};
}

// One at a time and in the background: loading a run reads the store and writes files.
void Host::resume_next() {
    if (is_resuming_ || to_resume_.empty() || executing_count() >= kRunsExecutingMax) return;
    is_resuming_ = true;
    const domain::RunId run = to_resume_.back();
    to_resume_.pop_back();
    base::run_in_background<PlanRun>(
        parts_.loop, lifetime_, [this, run] { return execute(run, {}); },
        [this, run](const base::Result<PlanRun>& how) {
            is_resuming_ = false;
            resumed(run, how);
            resume_next();
        });
}

// A store that is in trouble now holds no run up until the next start.
void Host::resumed(const domain::RunId& run, const base::Result<PlanRun>& how) {
    if (how) return;
    if (!events::is_passing_fault(how.error()) || how.error().kind == kEnding) {
        base::log_warn("run {} was cut off and is not resumed: {}", run, how.error().message);
        return;
    }
    parts_.loop.after(kResumeRetry, lifetime_.guard([this, run] {
        to_resume_.insert(to_resume_.begin(), run);
        resume_next();
    }));
}

void Host::drain(std::move_only_function<void()> done) {
    drained_ = std::move(done);
    to_resume_.clear();
    std::vector<std::shared_ptr<Execution>> all;
    {
        const std::lock_guard lock(mutex_);
        is_draining_ = true;
        for (const auto& [id, execution] : executing_)
            if (execution) all.push_back(execution);
    }
    for (const auto& execution : all) {
        const domain::RunId run = execution->runner.state().run.run_id;
        execution->runner.hold(
            [this, run] { post(run, [this, run](Execution&) { run_ended(run, ending(run)); }); });
    }
    stop_work();
    grace_ = parts_.loop.after(kDrainGrace, [this] { release_all(); });
    notify_drained();
}

// Posted: work that has not begun begins first.
void Host::stop_work() {
    const std::lock_guard lock(mutex_);
    for (const auto& work : work_)
        parts_.loop.post(lifetime_.guard([this, work] {
            {
                const std::lock_guard again(mutex_);
                if (!work_.contains(work)) return;
            }
            work->is_stopped = true;
            work->stop();
        }));
}

// What is still under way is cut off, as by a crash.
void Host::release_all() {
    std::vector<domain::RunId> left;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, execution] : executing_)
            if (execution) left.push_back({id});
    }
    for (const auto& run : left) run_ended(run, ending(run));
}

void Host::check_drained() {
    parts_.loop.post(lifetime_.guard([this] { notify_drained(); }));
}

void Host::notify_drained() {
    {
        const std::lock_guard lock(mutex_);
        if (!is_draining_ || !executing_.empty() || !work_.empty()) return;
    }
    parts_.loop.cancel(std::exchange(grace_, base::Loop::TimerHandle::None));
    if (drained_) std::exchange(drained_, nullptr)();
}

}  // namespace plans
