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
      self_(std::make_shared<Scheduler*>(this)) {
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

void Scheduler::commit(std::move_only_function<base::Status(events::Log&)> work,
                       std::move_only_function<void(base::Status)> done) {
    auto published = std::make_shared<std::vector<events::Committed>>();
    parts_.store.write_async(
        store::Durability::Process,
        [this, published, work = std::move(work)](store::Tx& tx) mutable -> base::Status {
            events::Log log(tx, parts_.clock.now(), parts_.ids);
            TRY(work(log));
            *published = log.take();
            return {};
        },
        [this, alive = std::weak_ptr(self_), published,
         done = std::move(done)](base::Status status) mutable {
            parts_.loop.post([this, alive, published, done = std::move(done),
                              status = std::move(status)]() mutable {
                if (!alive.lock()) return;
                if (status) parts_.feed.publish(*published);
                done(std::move(status));
            });
        });
}

// Starting and stopping -----------------------------------------------------------------------

void Scheduler::start() {
    is_started_ = true;
    stage_ = Stage::OpenAttempts;
    pump();
    fire_due();
}

void Scheduler::load_backlog() {
    while (stage_ != Stage::Done && std::ssize(ready_) < kBacklogPage) {
        std::vector<domain::AgentId> page;
        const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
            if (stage_ == Stage::OpenAttempts)
                page = TRY(tx.agents_with_open_attempt(backlog_after_, kBacklogPage));
            else if (stage_ == Stage::WakeHints)
                page = TRY(tx.agents_with_wake_hint(backlog_after_, kBacklogPage));
            else
                page = TRY(tx.agents_with_pending(backlog_after_, kBacklogPage));
            return {};
        });
        if (!status) {
            parts_.loop.after(kStuckRetry, [this, alive = std::weak_ptr(self_)] {
                if (alive.lock()) pump();
            });
            return;
        }
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
}

void Scheduler::drain(std::function<void()> done) {
    is_draining_ = true;
    drained_ = std::move(done);
    ready_.clear();
    ready_set_.clear();
    stage_ = Stage::Done;
    parts_.loop.cancel(std::exchange(due_timer_, base::Loop::TimerHandle::None));
    for (const auto& agent : runner_.running()) runner_.interrupt(agent, std::string(kShutdown));
    grace_ = parts_.loop.after(kDrainGrace, [this, alive = std::weak_ptr(self_)] {
        if (!alive.lock()) return;
        if (const auto over = std::exchange(drained_, nullptr)) over();
    });
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
    parts_.loop.after(delay, [this, alive = std::weak_ptr(self_), agent] {
        if (alive.lock()) wake(agent);
    });
}

void Scheduler::limit_rounds(const domain::AgentId& agent,
                             std::optional<std::int64_t> rounds_total) {
    rounds_.erase(agent);
    if (rounds_total) rounds_.emplace(agent, Rounds{.total = *rounds_total});
}

RoundBudget Scheduler::budget_of(const domain::Agent& agent) {
    RoundBudget budget{.limits = options_.limits};
    const auto found = rounds_.find(agent.agent_id);
    if (found == rounds_.end()) return budget;
    auto& rounds = found->second;
    if (!rounds.before) rounds.before = agent.total_model_rounds;
    budget.rounds_total = rounds.total;
    budget.rounds_used = agent.total_model_rounds - *rounds.before;
    return budget;
}

// Looking at an agent -------------------------------------------------------------------------

void Scheduler::tick(const domain::AgentId& agent) {
    if (options_.hold && !holds_.contains(agent)) {
        auto hold = options_.hold(agent);
        if (!hold) {
            if (hold.error().code == base::ErrorCode::Conflict && is_started_)
                return retry_later(kForeignRetry, agent);
            return stuck(agent, hold.error());
        }
        holds_.emplace(agent, std::move(*hold));
    }
    auto input = look(agent);
    if (!input) return stuck(agent, input.error());
    if (*input) open(agent, std::move(**input));
}

// What opening a turn needs; nothing when a turn that was left open is taken up instead.
base::Result<std::optional<OpenInput>> Scheduler::look(const domain::AgentId& agent) {
    std::optional<domain::Agent> known;
    std::optional<domain::Attempt> left_open;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        known = TRY(tx.agent(agent));
        left_open = TRY(tx.open_attempt_of(agent));
        return {};
    }));
    if (!known) return base::fail(base::ErrorCode::NotFound, "there is no agent {}", agent);
    if (left_open) {
        const auto budget = budget_of(*known);
        std::optional<std::int64_t> rounds_more;
        if (budget.rounds_total) rounds_more = *budget.rounds_total - budget.rounds_used;
        runner_.resume(agent, left_open->run_id, rounds_more);
        // Whoever held the agent back wanted its turn to end; this process has to do it.
        if (left_open->is_aborted)
            runner_.interrupt(agent, std::string(domain::kReasonAborted), turn::StopKind::Abort);
        else if (known->stopped || known->paused)
            runner_.interrupt(agent, known->stopped ? "agent_stopped" : "agent_paused");
        return std::nullopt;
    }
    OpenInput input{.budget = budget_of(*known),
                    .model_ref = options_.model_ref,
                    .token_hash_of = options_.token_hash_of};
    const auto home = parts_.home_of(agent);
    if (known->booting) {
        if (options_.boot) TRY(options_.boot(agent));
        input.is_booted = true;
    }
    input.home_workspace = workspace::agent_home(agent, home);
    if (const auto& place = known->active_workspace_entry;
        place && place->workspace_id != input.home_workspace.workspace_id &&
        !workspace::is_there(*place))
        input.vanished = place;
    if (input.vanished && options_.boot) TRY(options_.boot(agent));  // It needs its home again.
    input.guidance =
        read_guidance(home, input.vanished ? input.home_workspace : known->active_workspace_entry);
    input.execution = known->execution = parts_.execution_of(agent);
    input.tools = turn::declarations(parts_.dispatcher.registry(), *known);
    input.now = [this] { return parts_.clock.now(); };
    return input;
}

void Scheduler::open(const domain::AgentId& agent, OpenInput input) {
    ticking_.insert(agent);
    auto outcome = std::make_shared<Outcome>();
    commit(
        [agent, outcome, input = std::move(input)](events::Log& log) -> base::Status {
            *outcome = TRY(open_next(log, agent, input));
            return {};
        },
        [this, agent, outcome](const base::Status& status) {
            if (!status) return open_failed(agent, status.error());
            ticked(agent, std::move(*outcome));
        });
}

void Scheduler::ticked(const domain::AgentId& agent, Outcome outcome) {
    ticking_.erase(agent);
    const bool again = wanted_.erase(agent) > 0;
    const auto halted = halts_.extract(agent);
    const auto held = held_.find(agent);
    if (auto* opened = std::get_if<Opened>(&outcome)) {
        runner_.start(std::move(opened->facts), opened->frame, opened->effects);
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
    commit([agent, error](events::Log& log) { return note_failure(log, agent, error); },
           [this, agent](const base::Status& status) {
               ticking_.erase(agent);
               if (status)
                   wake(agent);
               else
                   stuck(agent, status.error());
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
    std::optional<base::Time> next;
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        next = TRY(tx.next_due());
        return {};
    });
    if (!status) next = parts_.clock.now() + kFireRetry;
    if (next == due_at_) return;
    parts_.loop.cancel(std::exchange(due_timer_, base::Loop::TimerHandle::None));
    due_at_ = next;
    if (!next) return;
    const auto delay = std::max(*next - parts_.clock.now(), std::chrono::microseconds(0));
    due_timer_ = parts_.loop.after(delay, [this, alive = std::weak_ptr(self_)] {
        if (!alive.lock()) return;
        due_timer_ = base::Loop::TimerHandle::None;
        fire_due();
    });
}

void Scheduler::fire_due() {
    if (firing_ > 0 || is_draining_) return;
    due_at_.reset();
    std::vector<domain::Timer> due;
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        due = TRY(tx.due_timers(parts_.clock.now(), kTimerBatch));
        return {};
    });
    if (!status || due.empty()) return timers_changed();
    fire_failed_ = false;
    firing_ = due.size();
    for (const auto& timer : due) fire(timer);
}

// A commit for each, so that one that fails takes no other with it; they share the trip to disk.
void Scheduler::fire(const domain::Timer& timer) {
    commit([id = timer.id](events::Log& log) { return scheduler::fire(log, id); },
           [this, timer](const base::Status& status) {
               if (!status && is_fault_of_message(status.error()))
                   return give_up_timer(timer, status.error());
               if (status) wake(timer.agent_id);
               fired(status);
           });
}

// A timer that cannot fire would be due for ever, and in the way of the others.
void Scheduler::give_up_timer(const domain::Timer& timer, const base::Error& error) {
    commit(
        [timer, error](events::Log& log) -> base::Status {
            auto ended = timer;
            ended.status = domain::TimerStatus::Cancelled;
            ended.next_fire_at.reset();
            TRY(log.tx().put_timer(ended));
            return log.append(
                timer.agent_id,
                domain::events::TimerFireFailed{.timer_id = timer.id, .error = error.message});
        },
        [this](const base::Status& status) { fired(status); });
}

void Scheduler::fired(const base::Status& status) {
    if (!status) fire_failed_ = true;
    if (--firing_ > 0) return;
    if (!fire_failed_) return fire_due();
    parts_.loop.after(kFireRetry, [this, alive = std::weak_ptr(self_)] {
        if (alive.lock()) fire_due();
    });
}

}  // namespace scheduler
