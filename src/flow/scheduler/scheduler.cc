#include "flow/scheduler/scheduler.h"

#include <algorithm>

#include "agent/workspace/workspace.h"
#include "base/os/files.h"
#include "domain/events/waiting.h"
#include "flow/scheduler/timers.h"

namespace scheduler {
namespace {

constexpr std::size_t kGuidanceBytesMax = 256 * 1024;
constexpr std::string_view kShutdown = "runtime_shutdown";

// The result of a step that has none.
struct Done {};

// Would the same message fail again? Not when the disk or another process was in the way.
bool is_fault_of_message(const base::Error& error) {
    return error.code != base::ErrorCode::Io && error.code != base::ErrorCode::Unavailable &&
           error.code != base::ErrorCode::Conflict;
}

}  // namespace

std::vector<context::Guidance> read_guidance(
    const std::filesystem::path& home, const std::optional<domain::WorkspaceEntry>& workspace) {
    std::vector<context::Guidance> list;
    const auto add = [&](std::string name, const std::filesystem::path& file) {
        auto text = base::read_file(file, kGuidanceBytesMax);
        if (text && !text->empty()) list.push_back({std::move(name), std::move(*text)});
        return text.has_value();
    };
    add("agent_agents_md", home / "AGENTS.md");
    if (!workspace) return list;
    const std::filesystem::path anchor(workspace->workspace_anchor);
    if (!add("workspace_agents_md", anchor / "AGENTS.md"))
        add("workspace_agents_md", anchor / "CLAUDE.md");
    return list;
}

Scheduler::Scheduler(turn::Parts parts, Options options)
    : parts_(parts),
      options_(std::move(options)),
      runner_(std::move(parts)),
      committer_({parts_.store, parts_.loop, parts_.clock, parts_.ids, parts_.feed}) {
    runner_.on_closed = [this](const domain::AgentId& agent) { closed(agent); };
    runner_.on_parked = [this] { pump(); };
    runner_.on_stuck = [this](const domain::AgentId& agent, const base::Error& error) {
        stuck(agent, error);
        pump();
    };
    runner_.on_text = [this](const domain::AgentId& agent, std::string_view text) {
        if (on_text) on_text(agent, text);
    };
}
Scheduler::~Scheduler() = default;

// Starting and stopping -----------------------------------------------------------------------

void Scheduler::start() {
    is_started_ = true;
    stage_ = Stage::OpenAttempts;
    pump();
    fire_due();
}

void Scheduler::load_backlog() {
    if (is_loading_backlog_) return;
    is_loading_backlog_ = true;
    using Page = std::vector<domain::AgentId>;
    committer_.load<Page>(
        lifetime_,
        [stage = stage_, after = backlog_after_](store::Tx& tx) -> base::Result<Page> {
            if (stage == Stage::OpenAttempts)
                return tx.agents_with_open_attempt(after, kBacklogPage);
            if (stage == Stage::WakeHints) return tx.agents_with_wake_hint(after, kBacklogPage);
            return tx.agents_with_pending(after, kBacklogPage);
        },
        [this](const base::Result<Page>& page) {
            if (page) {
                is_loading_backlog_ = false;
                add_backlog(*page);
                return pump();
            }
            parts_.loop.after(kStuckRetry, lifetime_.guard([this] {
                is_loading_backlog_ = false;
                pump();
            }));
        });
}

void Scheduler::add_backlog(const std::vector<domain::AgentId>& page) {
    if (stage_ == Stage::Done) return;  // Draining began meanwhile.
    for (const auto& agent : page)
        if (!runner_.is_running(agent) && !ticking_.contains(agent) &&
            ready_set_.insert(agent).second)
            ready_.push_back(agent);
    if (std::ssize(page) < kBacklogPage) {
        stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
        backlog_after_ = {};
    } else {
        backlog_after_ = page.back();
    }
}

void Scheduler::drain(std::function<void()> done) {
    is_draining_ = true;
    drained_ = std::move(done);
    ready_.clear();
    ready_set_.clear();
    stage_ = Stage::Done;
    parts_.loop.cancel(std::exchange(due_timer_, base::Loop::TimerHandle::None));
    for (const auto& agent : runner_.running()) runner_.interrupt(agent, std::string(kShutdown));
    grace_ = parts_.loop.after(kDrainGrace, lifetime_.guard([this] {
        if (const auto over = std::exchange(drained_, nullptr)) over();
    }));
    check_drained();
}

void Scheduler::check_drained() {
    if (!drained_ || !ticking_.empty() || !runner_.running().empty()) return;
    parts_.loop.cancel(std::exchange(grace_, base::Loop::TimerHandle::None));
    const auto done = std::exchange(drained_, nullptr);
    done();
}

// Who runs next -------------------------------------------------------------------------------

void Scheduler::wake(const domain::AgentId& agent) {
    if (is_draining_) return;
    if (const auto held = held_.find(agent); held != held_.end() && !runner_.is_running(agent)) {
        if (on_rest) on_rest(agent, held->second);
        return;
    }
    if (runner_.is_running(agent)) return;  // It is looked at again when its turn closes.
    if (ticking_.contains(agent)) {
        wanted_.insert(agent);
        return;
    }
    if (ready_set_.insert(agent).second) ready_.push_back(agent);
    pump();
}

void Scheduler::pump() {
    while (!is_draining_) {
        if (stage_ != Stage::Done && std::ssize(ready_) < kBacklogPage) load_backlog();
        if (ready_.empty() ||
            ticking_.size() + runner_.active_count() >= options_.concurrent_turns_max)
            return;
        const domain::AgentId agent = std::move(ready_.front());
        ready_.pop_front();
        ready_set_.erase(agent);
        if (!runner_.is_running(agent) && !ticking_.contains(agent)) tick(agent);
    }
}

void Scheduler::retry_later(std::chrono::microseconds delay, const domain::AgentId& agent) {
    parts_.loop.after(delay, lifetime_.guard([this, agent] { wake(agent); }));
}

void Scheduler::limit_rounds(const domain::AgentId& agent,
                             std::optional<std::int64_t> rounds_total) {
    rounds_.erase(agent);
    if (rounds_total) rounds_.emplace(agent, Rounds{.total = *rounds_total});
}

RoundBudget Scheduler::budget_of(const domain::AgentStatistics& statistics) {
    RoundBudget budget{.limits = options_.limits};
    const auto found = rounds_.find(statistics.agent_id);
    if (found == rounds_.end()) return budget;
    auto& rounds = found->second;
    if (!rounds.before) rounds.before = statistics.total_model_rounds;
    budget.rounds_total = rounds.total;
    budget.rounds_used = statistics.total_model_rounds - *rounds.before;
    return budget;
}

// Opening a turn --------------------------------------------------------------------------------

// What is known of an agent before its turn is opened or resumed, from the store and from files.
struct Scheduler::Prepared {
    std::shared_ptr<void> hold;
    domain::Agent agent;
    domain::AgentStatistics statistics;
    std::optional<domain::Attempt> left_open;  // By an earlier process.
    OpenInput input;                           // Without its budget.
};

void Scheduler::tick(const domain::AgentId& agent) {
    ticking_.insert(agent);
    committer_.background<Prepared>(
        lifetime_,
        [agent, &store = parts_.store, &clock = parts_.clock,
         &registry = parts_.dispatcher.registry(), home_of = parts_.home_of,
         execution_of = parts_.execution_of, options = options_,
         is_held = holds_.contains(agent)]() -> base::Result<Prepared> {
            Prepared found;
            if (options.hold && !is_held) found.hold = TRY(options.hold(agent));
            TRY(store.read([&](store::Tx& tx) -> base::Status {
                auto known = TRY(tx.agent(agent));
                if (!known)
                    return base::fail(base::ErrorCode::NotFound, "there is no agent {}", agent);
                found.agent = std::move(*known);
                found.statistics = TRY(tx.statistics(agent));
                found.left_open = TRY(tx.open_attempt_of(agent));
                return {};
            }));
            if (found.left_open) return found;
            auto& input = found.input;
            input.model_ref = options.model_ref;
            input.token_hash_of = options.token_hash_of;
            input.now = [&clock] { return clock.now(); };
            const auto home = home_of(agent);
            if (found.agent.booting) {
                if (options.boot) TRY(options.boot(agent));
                input.is_booted = true;
            }
            input.home_workspace = workspace::agent_home(agent, home);
            if (const auto& last = found.agent.active_workspace_entry;
                last && last->workspace_id != input.home_workspace.workspace_id &&
                !workspace::is_there(*last))
                input.vanished = last;
            if (input.vanished && options.boot) TRY(options.boot(agent));  // It needs its home.
            input.guidance = read_guidance(
                home, input.vanished ? input.home_workspace : found.agent.active_workspace_entry);
            input.execution = found.agent.execution = execution_of(agent);
            input.tools = turn::declarations(registry, found.agent);
            TRY(store.read([&](store::Tx& tx) -> base::Status {
                input.planned = TRY(plan_ahead(tx, found.agent, input));
                return {};
            }));
            return found;
        },
        [this, agent](base::Result<Prepared> found) {
            if (!found) return not_prepared(agent, found.error());
            prepared(agent, std::move(*found));
        });
}

void Scheduler::not_prepared(const domain::AgentId& agent, const base::Error& error) {
    ticking_.erase(agent);
    wanted_.erase(agent);
    halts_.erase(agent);
    if (error.code == base::ErrorCode::Conflict && is_started_ && !is_draining_ &&
        !holds_.contains(agent))
        retry_later(kForeignRetry, agent);  // Another process runs it.
    else
        stuck(agent, error);
    pump();
    check_drained();
}

void Scheduler::prepared(const domain::AgentId& agent, Prepared found) {
    if (found.hold) holds_.insert_or_assign(agent, found.hold);
    if (is_draining_) {
        ticking_.erase(agent);
        holds_.erase(agent);
        return check_drained();
    }
    if (found.left_open) return resume(agent, found);
    found.input.budget = budget_of(found.statistics);
    open(agent, std::move(found.input));
}

void Scheduler::resume(const domain::AgentId& agent, const Prepared& found) {
    ticking_.erase(agent);
    wanted_.erase(agent);
    const auto halted = halts_.extract(agent);
    const auto budget = budget_of(found.statistics);
    std::optional<std::int64_t> rounds_more;
    if (budget.rounds_total) rounds_more = *budget.rounds_total - budget.rounds_used;
    runner_.resume(agent, found.left_open->run_id, rounds_more);
    // Control that was committed while no process ran the turn: this process executes it.
    if (found.left_open->is_aborted)
        runner_.interrupt(agent, std::string(domain::kReasonAborted), turn::StopKind::Abort);
    else if (found.agent.stopped || found.agent.paused)
        runner_.interrupt(agent, found.agent.stopped ? "agent_stopped" : "agent_paused");
    if (const auto held = held_.find(agent); held != held_.end())
        runner_.interrupt(agent, held->second);
    if (halted) runner_.interrupt(agent, halted.mapped().reason, halted.mapped().kind);
    pump();
}

void Scheduler::open(const domain::AgentId& agent, OpenInput input) {
    committer_.commit<Outcome>(
        lifetime_, {},
        [agent, input = std::move(input)](events::Log& log) {
            return open_next(log, agent, input);
        },
        [this, agent](base::Result<Outcome> outcome) {
            if (!outcome) return open_failed(agent, outcome.error());
            ticked(agent, std::move(*outcome));
        });
}

void Scheduler::ticked(const domain::AgentId& agent, Outcome outcome) {
    ticking_.erase(agent);
    const bool again = wanted_.erase(agent) > 0;
    const auto halted = halts_.extract(agent);
    const auto held = held_.find(agent);
    if (auto* opened = std::get_if<Opened>(&outcome)) {
        runner_.start(std::move(opened->facts), opened->frame, opened->transcript, opened->effects);
        if (is_draining_) runner_.interrupt(agent, std::string(kShutdown));
        if (held != held_.end()) runner_.interrupt(agent, held->second);
        if (halted) runner_.interrupt(agent, halted.mapped().reason, halted.mapped().kind);
        return pump();
    }
    const auto* rest = std::get_if<Idle>(&outcome);
    if (is_draining_)
        holds_.erase(agent);
    else if (held == held_.end() && rest && !again)
        rested(agent, rest->reason);
    else
        wake(agent);  // Behind the others, unless it is held back.
    pump();
    check_drained();
}

void Scheduler::open_failed(const domain::AgentId& agent, const base::Error& error) {
    ticking_.erase(agent);
    if (!is_fault_of_message(error)) {
        stuck(agent, error);
        return pump();
    }
    ticking_.insert(agent);
    committer_.commit<Done>(
        lifetime_, {},
        [agent, error](events::Log& log) -> base::Result<Done> {
            TRY(note_failure(log, agent, error));
            return Done{};
        },
        [this, agent](const base::Result<Done>& noted) {
            ticking_.erase(agent);
            if (noted)
                wake(agent);
            else
                stuck(agent, noted.error());
            pump();
            check_drained();
        });
}

void Scheduler::rested(const domain::AgentId& agent, const std::string& reason) {
    holds_.erase(agent);
    if (is_started_) timers_changed();
    if (on_rest) on_rest(agent, reason);
}

void Scheduler::closed(const domain::AgentId& agent) {
    if (is_draining_) {
        holds_.erase(agent);
        return check_drained();
    }
    wake(agent);
    pump();
}

void Scheduler::stuck(const domain::AgentId& agent, const base::Error& error) {
    holds_.erase(agent);
    if (on_stuck) on_stuck(agent, error);
    if (is_started_ && error.code != base::ErrorCode::NotFound) retry_later(kStuckRetry, agent);
    check_drained();
}

// Stopping turns ------------------------------------------------------------------------------

void Scheduler::interrupt(const domain::AgentId& agent, std::string reason) {
    held_[agent] = reason;
    runner_.interrupt(agent, std::move(reason));
    if (!runner_.is_running(agent) && !ticking_.contains(agent)) wake(agent);
}

void Scheduler::release(const domain::AgentId& agent) {
    held_.erase(agent);
}

void Scheduler::halt(const domain::AgentId& agent, std::string reason, turn::StopKind kind) {
    if (ticking_.contains(agent))
        halts_.insert_or_assign(agent, Halt{std::move(reason), kind});
    else
        runner_.interrupt(agent, std::move(reason), kind);
}

// Timers --------------------------------------------------------------------------------------

void Scheduler::timers_changed() {
    if (!is_started_ || is_draining_ || firing_ > 0) return;
    if (is_loading_timers_) {
        timers_changed_meanwhile_ = true;
        return;
    }
    is_loading_timers_ = true;
    using Next = std::optional<base::Time>;
    committer_.load<Next>(
        lifetime_, [](store::Tx& tx) { return tx.next_due(); },
        [this](const base::Result<Next>& next) {
            is_loading_timers_ = false;
            if (std::exchange(timers_changed_meanwhile_, false)) return timers_changed();
            wait_for_timer(next ? *next : parts_.clock.now() + kFireRetry);
        });
}

void Scheduler::wait_for_timer(std::optional<base::Time> next) {
    if (is_draining_ || firing_ > 0 || next == due_at_) return;
    parts_.loop.cancel(std::exchange(due_timer_, base::Loop::TimerHandle::None));
    due_at_ = next;
    if (!next) return;
    const auto delay = std::max(*next - parts_.clock.now(), std::chrono::microseconds(0));
    due_timer_ = parts_.loop.after(delay, lifetime_.guard([this] {
        due_timer_ = base::Loop::TimerHandle::None;
        fire_due();
    }));
}

void Scheduler::fire_due() {
    if (firing_ > 0 || is_draining_) return;
    due_at_.reset();
    if (is_loading_timers_) {
        timers_changed_meanwhile_ = true;
        return;
    }
    is_loading_timers_ = true;
    using Due = std::vector<domain::Timer>;
    committer_.load<Due>(
        lifetime_,
        [now = parts_.clock.now()](store::Tx& tx) { return tx.due_timers(now, kTimerBatch); },
        [this](const base::Result<Due>& due) {
            is_loading_timers_ = false;
            timers_changed_meanwhile_ = false;
            if (is_draining_) return;
            if (!due || due->empty()) return timers_changed();
            fire_all(*due);
        });
}

void Scheduler::fire_all(const std::vector<domain::Timer>& due) {
    fire_failed_ = false;
    firing_ = due.size();
    for (const auto& timer : due) fire(timer);
}

// A commit for each, so that one that fails takes no other with it; they share the trip to disk.
void Scheduler::fire(const domain::Timer& timer) {
    committer_.commit<Done>(
        lifetime_, {},
        [id = timer.id](events::Log& log) -> base::Result<Done> {
            TRY(scheduler::fire(log, id));
            return Done{};
        },
        [this, timer](const base::Result<Done>& done) {
            if (!done && is_fault_of_message(done.error()))
                return give_up_timer(timer, done.error());
            if (done) wake(timer.agent_id);
            fired(done.has_value());
        });
}

// A timer that cannot fire would be due for ever, and in the way of the others.
void Scheduler::give_up_timer(const domain::Timer& timer, const base::Error& error) {
    committer_.commit<Done>(
        lifetime_, {},
        [timer, error](events::Log& log) -> base::Result<Done> {
            auto ended = timer;
            ended.status = domain::TimerStatus::Cancelled;
            ended.next_fire_at.reset();
            TRY(log.tx().put_timer(ended));
            TRY(log.append(timer.agent_id, domain::events::TimerFireFailed{
                                               .timer_id = timer.id, .error = error.message}));
            return Done{};
        },
        [this](const base::Result<Done>& done) { fired(done.has_value()); });
}

void Scheduler::fired(bool is_committed) {
    if (!is_committed) fire_failed_ = true;
    if (--firing_ > 0) return;
    if (!fire_failed_) return fire_due();
    parts_.loop.after(kFireRetry, lifetime_.guard([this] { fire_due(); }));
}

}  // namespace scheduler
