#include "flow/plans/host.h"

#include <ranges>

#include "base/log/log.h"
#include "agent/identity/agent_lock.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;
using domain::PlanRun;
using domain::PlanRunStatus;

constexpr std::int64_t kTakenUpMax = 10'000;
constexpr std::int64_t kRevertsLookedAt = 1000;
constexpr std::chrono::milliseconds kLoading{5};
constexpr std::string_view kEnding = "runtime_ending";

std::string lock_name(const domain::RunId& run) {
    return "run " + run.value;
}

std::unexpected<base::Error> ending(const domain::RunId& run) {
    return std::unexpected(base::Error{
        ErrorCode::Unavailable,
        fmt::format("the runtime is ending; run {} stays open and goes on when it is back", run),
        std::string(kEnding)});
}

std::unexpected<base::Error> ending() {
    return std::unexpected(base::Error{ErrorCode::Unavailable,
                                       "the runtime is ending; try again when it is back",
                                       std::string(kEnding)});
}

// The run among `runs` that took `run` back and was not taken back itself.
const PlanRun* reverting(const std::vector<PlanRun>& runs, const domain::RunId& run) {
    for (const auto& other : runs)
        if (other.reverts == run && other.counts.succeeded > 0 && !reverting(runs, other.run_id))
            return &other;
    return nullptr;
}

// What is left of a run builds on what it did; once that is taken back, only the whole plan makes
// sense.
base::Status check_not_reverted(store::Store& store, const domain::RunId& run) {
    std::vector<PlanRun> newest;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        newest = TRY(tx.plan_runs(kRevertsLookedAt));
        return {};
    }));
    if (const auto* other = reverting(newest, run))
        return fail(ErrorCode::Conflict,
                    "run {} was taken back by run {}; run its plan anew instead", run,
                    other->run_id);
    return {};
}

}  // namespace

// One run under way, with everything that it needs. Made anywhere, used and destroyed on the loop.
class Host::Carried {
public:
    Carried(const Parts& parts, base::Fd lock, const StoredRun& stored, ReadyRun ready,
            ExecutionCallbacks calls_made, std::atomic<std::int64_t>& calls_ended)
        : calls(std::move(calls_made)),
          calls_ended_(calls_ended),
          lock_(std::move(lock)),
          files_(parts, stored),
          journal_(parts.store, parts.loop, parts.joins()),
          performer_(parts.dispatcher, ready.standing.place, ready.standing.profile),
          continues_(stored.run.status == PlanRunStatus::Running),
          runner({.loop = parts.loop,
                  .clock = parts.clock,
                  .ids = parts.ids,
                  .dispatcher = parts.dispatcher,
                  .journal = journal_,
                  .performer = performer_,
                  .place = ready.standing.place},
                 std::move(ready.state)) {
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

// The right to carry one run here, given back unless it is used.
class Host::Slot {
public:
    Slot(Host& host, domain::RunId run) : host_(&host), run(std::move(run)) {}
    Slot(Slot&& other) noexcept
        : host_(std::exchange(other.host_, nullptr)), run(std::move(other.run)) {}
    ~Slot() {
        if (host_) host_->give_back(run);
    }
    // It begins. False when the process has begun to end meanwhile.
    bool fill(std::shared_ptr<Carried> carried) {
        const std::lock_guard lock(host_->mutex_);
        if (host_->is_draining_) return false;
        host_->executing_[run.value] = std::move(carried);
        // Under the lock: whoever cancels the run does so after it has begun.
        std::exchange(host_, nullptr)->post(run, [](Carried& one) { one.begin(); });
        return true;
    }

private:
    Host* host_;

public:
    domain::RunId run;
};

Host::Host(Parts parts)
    : parts_(std::move(parts)), self_(std::make_shared<Host*>(this)) {}

Host::~Host() {
    parts_.loop.cancel(grace_);
}

base::Result<Host::Slot> Host::take_slot(const domain::RunId& run) {
    const std::lock_guard lock(mutex_);
    if (is_draining_) return ending(run);
    if (executing_.contains(run.value))
        return fail(ErrorCode::Conflict, "run {} is being carried already", run);
    if (executing_.size() >= kRunsExecutingMax)
        return std::unexpected(base::Error{
            ErrorCode::Unavailable,
            fmt::format("{} runs are being carried, as many as one process takes; try again when "
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
    parts_.loop.post(std::move(begin));  // Under the lock: before whatever stops it.
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
    auto carried = std::make_shared<Carried>(parts_, std::move(lock), stored, std::move(ready),
                                             std::move(calls), calls_ended_);
    // Posted: the runner is in the midst of itself when it says so.
    carried->runner.on_ended = [this, run] {
        post(run, [this, run](Carried& one) { run_ended(run, one.runner.state().run); });
    };
    carried->runner.on_stuck = [this, run](const base::Error& error) {
        post(run, [this, run, error](Carried&) { run_ended(run, std::unexpected(error)); });
    };
    if (!slot.fill(std::move(carried))) return ending(run);
    return std::move(stored.run);
}

void Host::post(const domain::RunId& run, std::function<void(Carried&)> task) {
    parts_.loop.post([this, run, task = std::move(task), alive = std::weak_ptr(self_)] {
        if (!alive.lock()) return;
        if (const auto carried = find(run)) task(*carried);
    });
}

std::shared_ptr<Host::Carried> Host::find(const domain::RunId& run) const {
    const std::lock_guard lock(mutex_);
    const auto found = executing_.find(run.value);
    return found == executing_.end() ? nullptr : found->second;
}

bool Host::cancel(const domain::RunId& run, const std::string& reason,
                      std::function<void()> ended) {
    if (!is_executing(run)) return false;
    parts_.loop.post([this, run, reason, ended = std::move(ended), alive = std::weak_ptr(self_)] {
        if (alive.lock()) stop(run, reason, ended);
    });
    return true;
}

void Host::stop(const domain::RunId& run, const std::string& reason,
                    const std::function<void()>& ended) {
    const auto carried = find(run);
    if (carried) {
        if (ended) carried->on_gone.push_back(ended);
        return carried->runner.cancel(reason);
    }
    if (!is_executing(run)) {
        if (ended) ended();
        return;
    }
    // It is being loaded, on some other thread.
    parts_.loop.after(kLoading, [this, run, reason, ended, alive = std::weak_ptr(self_)] {
        if (alive.lock()) stop(run, reason, ended);
    });
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

// Whoever is told that the run is over finds its lock free.
void Host::run_ended(const domain::RunId& run, base::Result<PlanRun> how) {
    std::shared_ptr<Carried> carried;
    {
        const std::lock_guard lock(mutex_);
        const auto found = executing_.find(run.value);
        carried = std::move(found->second);
        executing_.erase(found);
    }
    carried->release();
    if (how) ++runs_ended_;
    if (!how && how.error().kind != kEnding)
        base::log_warn("run {} is no longer carried here: {}", run, how.error().message);
    if (carried->calls.on_end) carried->calls.on_end(std::move(how));
    for (const auto& told : carried->on_gone) told();
    parts_.feed->publish(run, carried->runner.state().run.last_seq);
    resume_next();
    notify_drained();
}

base::Status Host::stay() {
    stays_ = true;
    std::vector<PlanRun> open;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        open = TRY(tx.open_plan_runs(kTakenUpMax));
        return {};
    }));
    std::vector<domain::RunId> left;
    for (const auto& run : open | std::views::reverse)
        if (run.carrier == domain::PlanCarrier::Runtime || (run.owner && run.approval))
            left.push_back(run.run_id);
    parts_.loop.post([this, left = std::move(left), alive = std::weak_ptr(self_)]() mutable {
        if (!alive.lock()) return;
        to_resume_ = std::move(left);
        resume_next();
    });
    return {};
}

// One at a time, so that others get their turn of the loop in between.
void Host::resume_next() {
    if (to_resume_.empty() || executing_count() >= kRunsExecutingMax) return;
    const domain::RunId run = to_resume_.back();
    to_resume_.pop_back();
    if (const auto taken = execute(run, {}); !taken)
        base::log_warn("run {} was cut off and is not taken up: {}", run, taken.error().message);
    parts_.loop.post([this, alive = std::weak_ptr(self_)] {
        if (alive.lock()) resume_next();
    });
}

void Host::drain(std::move_only_function<void()> done) {
    drained_ = std::move(done);
    to_resume_.clear();
    std::vector<std::shared_ptr<Carried>> all;
    {
        const std::lock_guard lock(mutex_);
        is_draining_ = true;
        for (const auto& [id, carried] : executing_)
            if (carried) all.push_back(carried);
    }
    for (const auto& carried : all) {
        const domain::RunId run = carried->runner.state().run.run_id;
        carried->runner.hold(
            [this, run] { post(run, [this, run](Carried&) { run_ended(run, ending(run)); }); });
    }
    stop_work();
    grace_ = parts_.loop.after(kDrainGrace, [this] { let_all_go(); });
    notify_drained();
}

// Posted: work that has not begun yet does so first.
void Host::stop_work() {
    const std::lock_guard lock(mutex_);
    for (const auto& work : work_)
        parts_.loop.post([this, work, alive = std::weak_ptr(self_)] {
            if (!alive.lock()) return;
            {
                const std::lock_guard again(mutex_);
                if (!work_.contains(work)) return;
            }
            work->is_stopped = true;
            work->stop();
        });
}

// What is still under way is cut off, as by a crash.
void Host::let_all_go() {
    std::vector<domain::RunId> left;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, carried] : executing_)
            if (carried) left.push_back({id});
    }
    for (const auto& run : left) run_ended(run, ending(run));
}

void Host::check_drained() {
    parts_.loop.post([this, alive = std::weak_ptr(self_)] {
        if (alive.lock()) notify_drained();
    });
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
