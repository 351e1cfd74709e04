#include "flow/scheduler/scheduler.h"

#include <algorithm>

#include "agent/skills/catalogue.h"
#include "agent/workspace/workspace.h"
#include "base/os/crash/crash_marks.h"
#include "flow/scheduler/recovery.h"

namespace scheduler {
namespace {

constexpr std::string_view kShutdown = "runtime_shutdown";

// The result of a step that has none.
struct Done {};

// "vllm" of "vllm/some/model".
std::string provider_of(const std::string& model_ref) {
    return model_ref.substr(0, model_ref.find('/'));
}

}  // namespace

Scheduler::Scheduler(turn::Parts parts, Options options)
    : parts_(parts),
      options_(std::move(options)),
      runner_(std::move(parts)),
      committer_({parts_.store, parts_.loop, parts_.clock, parts_.ids, parts_.feed,
                  parts_.brief_channels}),
      slots_(options_.concurrent_turns_max,
             [this](const domain::AgentId& agent) { return runner_.is_parked(agent); }),
      claims_(std::make_shared<Claims>(options_.concurrent_turns_max)),
      alarm_({.committer = committer_,
              .loop = parts_.loop,
              .clock = parts_.clock,
              .wake = [this](const domain::AgentId& agent) { wake(agent); },
              .set_aside =
                  [this](const domain::AgentId& agent, const base::Error& error,
                         std::function<void(bool)> then) {
                      set_aside(agent, Phase::Timer, error, std::move(then));
                  }}) {
    runner_.on_closed = [this](const domain::AgentId& agent) { closed(agent); };
    runner_.on_parked = [this](const domain::AgentId& agent) {
        claims_->set_used(slots_.used());
        call(slots_.next_for_slot_of(agent));
        pump();
    };
    runner_.on_stuck = [this](const domain::AgentId& agent, const base::Error& error) {
        turn_failed(agent, error);
    };
    runner_.on_news = [this](const domain::AgentId& agent, const provider::News& news) {
        if (on_news) on_news(agent, news);
    };
    runner_.on_output = [this](const domain::AgentId& agent, const std::string& tool,
                               const std::string& line) {
        if (on_output) on_output(agent, tool, line);
    };
    runner_.is_watched = [this](const domain::AgentId& agent) {
        return is_watched && is_watched(agent);
    };
}
Scheduler::~Scheduler() = default;

// Starting and stopping -----------------------------------------------------------------------

void Scheduler::start() {
    is_started_ = true;
    stage_ = Stage::OpenAttempts;
    pump();
    alarm_.start();
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
            if (stage == Stage::Work) return tx.agents_with_runnable_work(after, kBacklogPage);
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
    slots_.forget_waiting();
    stage_ = Stage::Done;
    alarm_.stop();
    for (const auto& agent : runner_.running()) runner_.interrupt(agent, std::string(kShutdown));
    grace_ = parts_.loop.after(kDrainGrace, lifetime_.guard([this] {
        if (const auto over = std::exchange(drained_, nullptr)) over();
    }));
    check_drained();
}

void Scheduler::check_drained() {
    if (!drained_ || !ticking_.empty() || !asides_.empty() || !runner_.running().empty()) return;
    parts_.loop.cancel(std::exchange(grace_, base::Loop::TimerHandle::None));
    const auto done = std::exchange(drained_, nullptr);
    done();
}

// Who runs next -------------------------------------------------------------------------------

void Scheduler::wake(const domain::AgentId& agent) {
    if (is_draining_) return;
    if (const auto held = held_.find(agent); held != held_.end() && !runner_.is_running(agent)) {
        if (on_idle) on_idle(agent, held->second);
        return;
    }
    if (runner_.is_running(agent)) return;  // It is ticked again when its turn closes.
    if (asides_.contains(agent)) return;    // It waits for its operator.
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
        // One that was called may have had no use for its slot, being set aside or gone.
        if (ready_.empty() && ticking_.empty()) call_waiting();
        if (ready_.empty() || ticking_.size() + runner_.active_count() >=
                                  options_.concurrent_turns_max * kProvidersAtOnce)
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
    std::optional<domain::AgentFault> fault;  // It is set aside; then nothing else is known.
    std::string provider;                     // That its turn asks.
    std::shared_ptr<void> claim;              // On a slot; none: nothing else is known.
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
        [agent, &store = parts_.store, &clock = parts_.clock, &ids = parts_.ids,
         &registry = parts_.dispatcher.registry(), home_of = parts_.home_of,
         execution_of = parts_.execution_of, user_home = parts_.user_home, session = parts_.session,
         limits_of = parts_.context_limits_of, options = options_, claims = claims_,
         recent = parts_.recent, offers = parts_.offers,
         is_held = holds_.contains(agent)]() -> base::Result<Prepared> {
            const base::CrashMark mark(agent.value);
            Prepared found;
            std::optional<PromptFacts> next;
            auto& input = found.input;
            input.model_ref = options.model_ref;
            input.home = home_of(agent);
            if (options.token_hash_of) {
                input.token_hash_of = options.token_hash_of;
                input.fresh_capability = [&ids] { return ids.fresh<domain::ExternalTriggerId>(); };
            }
            input.recent = recent;
            input.now = [&clock] { return clock.now(); };
            // First, so that nothing of what is loaded is older. One that has to wait in line gives
            // it back with the result.
            if (options.hold && !is_held) found.hold = TRY(options.hold(agent));
            TRY(store.read([&](store::Tx& tx) -> base::Status {
                next.reset();
                found.claim.reset();
                found.fault = TRY(tx.fault(agent));
                if (found.fault && found.fault->is_set_aside) return {};
                found.fault.reset();
                auto known = TRY(tx.agent(agent));
                found.left_open = TRY(tx.open_attempt_of(agent));
                const auto model =
                    known && known->model_override ? *known->model_override : options.model_ref;
                found.provider = provider_of(found.left_open ? found.left_open->model_ref : model);
                found.claim = claims->claim(found.provider);
                if (!found.claim) return {};
                if (!known)
                    return base::fail(base::ErrorCode::NotFound, "there is no agent {}", agent);
                found.agent = std::move(*known);
                found.statistics = TRY(tx.statistics(agent));
                if (found.left_open) return {};
                input.limits = limits_of(model);
                const auto message = TRY(tx.next_message(agent));
                if (message)
                    next = TRY(load_prompt_facts(tx, found.agent, message->message, input));
                return {};
            }));
            if (!found.claim || found.left_open) return found;
            const auto& home = input.home;
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
            if (!next) return found;
            input.guidance = context::read_guidance(
                {.user_home = user_home,
                 .agent_home = home,
                 .workspace =
                     input.vanished ? input.home_workspace : found.agent.active_workspace_entry});
            input.session = session;
            auto here = found.agent;
            if (input.vanished) here.active_workspace_entry = input.home_workspace;
            input.skills = skills::discover(skills::places_of(here, user_home, home)).skills;
            input.execution = found.agent.execution = execution_of(agent);
            // For their size, which is the same for each instruction.
            input.offer =
                offers->of(registry, found.agent, domain::AuthorityClass::OperatorInstruction);
            input.planned = plan_ahead(found.agent, std::move(*next), input);
            return found;
        },
        [this, agent](base::Result<Prepared> found) {
            guarded(agent, [&] {
                if (!found) return not_prepared(agent, found.error());
                prepared(agent, std::move(*found));
            });
        });
}

// What a step for one agent throws on the loop harms that agent only.
template <class Part>
void Scheduler::guarded(const domain::AgentId& agent, Part part) {
    const base::CrashMark mark(agent.value);
    try {
        part();
    } catch (const std::exception& bug) {
        ticking_.erase(agent);
        runner_.abandon(agent);
        turn_failed(agent, {.code = base::ErrorCode::Internal, .message = bug.what()});
    }
}

void Scheduler::not_prepared(const domain::AgentId& agent, const base::Error& error) {
    if (error.code != base::ErrorCode::NotFound && fault_of(error) == FaultOf::Message)
        return open_failed(agent, error);
    ticking_.erase(agent);
    wanted_.erase(agent);
    halts_.erase(agent);
    if (fault_of(error) == FaultOf::Agent)
        set_aside(agent, Phase::Prepare, error);
    else if (error.code == base::ErrorCode::Conflict && is_started_ && !is_draining_ &&
             !holds_.contains(agent))
        retry_later(kForeignRetry, agent);  // Another process runs it.
    else
        stuck(agent, error);
    call_waiting();
    pump();
    check_drained();
}

// The agent has a slot of its provider from here on, until free_slot(). False: there is none, and
// it waits in the line of the provider, holding nothing.
bool Scheduler::takes_slot(const domain::AgentId& agent, Prepared& found) {
    if (found.claim && !slots_.full().contains(found.provider)) {
        slots_.take(agent, found.provider);
        claims_->set_used(slots_.used());
        return true;
    }
    ticking_.erase(agent);
    wanted_.erase(agent);
    halts_.erase(agent);
    holds_.erase(agent);
    if (ready_set_.insert(agent).second) slots_.wait(agent, found.provider);
    // A turn that still has a claim calls the next agent when it takes its slot, or does not.
    found.claim.reset();
    if (!claims_->has_any(found.provider)) call_waiting();
    return false;
}

// A slot may have become free while nobody waited for it yet, or a claim on it was given up.
void Scheduler::call_waiting() {
    for (auto& agent : slots_.next_for_free()) ready_.push_front(std::move(agent));
}

void Scheduler::free_slot(const domain::AgentId& agent) {
    const auto next = slots_.release(agent);
    claims_->set_used(slots_.used());
    call(next);
}

void Scheduler::call(std::optional<domain::AgentId> agent) {
    if (agent) ready_.push_front(std::move(*agent));
}

void Scheduler::prepared(const domain::AgentId& agent, Prepared found) {
    if (found.hold) holds_.insert_or_assign(agent, found.hold);
    if (is_draining_) {
        ticking_.erase(agent);
        holds_.erase(agent);
        return check_drained();
    }
    if (found.fault) {
        ticking_.erase(agent);
        wanted_.erase(agent);
        halts_.erase(agent);
        holds_.erase(agent);
        if (on_stuck)
            on_stuck(agent,
                     {.code = base::ErrorCode::Conflict,
                      .message = fmt::format("agent {0} is set aside after a fault: {1}. Let "
                                             "it try again with: holon agent recover {0}",
                                             agent, found.fault->reason)});
        pump();
        return check_drained();
    }
    if (!takes_slot(agent, found)) return pump();
    found.claim.reset();
    call_waiting();
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
    watch_holds();
    pump();
}

void Scheduler::open(const domain::AgentId& agent, OpenInput input) {
    committer_.commit<Outcome>(
        lifetime_, {},
        [agent, input = std::move(input)](events::Log& log) {
            const base::CrashMark mark(agent.value);
            return open_next(log, agent, input);
        },
        [this, agent](base::Result<Outcome> outcome) {
            guarded(agent, [&] {
                if (!outcome) return open_failed(agent, outcome.error());
                ticked(agent, std::move(*outcome));
            });
        });
}

void Scheduler::ticked(const domain::AgentId& agent, Outcome outcome) {
    ticking_.erase(agent);
    const bool again = wanted_.erase(agent) > 0;
    const auto halted = halts_.extract(agent);
    const auto held = held_.find(agent);
    if (auto* opened = std::get_if<Opened>(&outcome)) {
        runner_.start(std::move(opened->facts), opened->frame, std::move(opened->conversation),
                      opened->effects);
        if (is_draining_) runner_.interrupt(agent, std::string(kShutdown));
        if (held != held_.end()) runner_.interrupt(agent, held->second);
        if (halted) runner_.interrupt(agent, halted.mapped().reason, halted.mapped().kind);
        watch_holds();
        return pump();
    }
    // An agent that waits in line keeps nothing open.
    free_slot(agent);
    holds_.erase(agent);
    const auto* nothing = std::get_if<Idle>(&outcome);
    if (is_draining_)
        check_drained();
    else if (held == held_.end() && nothing && !again)
        idle(agent, nothing->reason);
    else
        wake(agent);  // Behind the others, unless it is held back.
    pump();
    check_drained();
}

void Scheduler::open_failed(const domain::AgentId& agent, const base::Error& error) {
    ticking_.erase(agent);
    free_slot(agent);
    if (fault_of(error) == FaultOf::World) {
        stuck(agent, error);
        return pump();
    }
    if (fault_of(error) == FaultOf::Agent) {
        set_aside(agent, Phase::Open, error);
        return pump();
    }
    ticking_.insert(agent);
    committer_.commit<bool>(
        lifetime_, {}, [agent, error](events::Log& log) { return note_failure(log, agent, error); },
        [this, agent, error](const base::Result<bool>& noted) {
            ticking_.erase(agent);
            wanted_.erase(agent);
            holds_.erase(agent);
            if (!noted)
                turn_failed(agent, noted.error());
            else if (*noted)
                retry_later(kOpenRetry, agent);
            else
                set_aside(agent, Phase::Open, error);  // No message is at fault.
            pump();
            check_drained();
        });
}

// Records that nothing runs for the agent until its operator has it recovered. When even that
// cannot be committed, it is tried again later.
void Scheduler::set_aside(const domain::AgentId& agent, Phase phase, const base::Error& error,
                          std::function<void(bool)> then) {
    if (!runner_.is_running(agent)) holds_.erase(agent);
    if (!asides_.insert(agent).second) {  // It is under way.
        if (then) then(false);
        return;
    }
    const domain::AgentFault fault{.agent_id = agent,
                                   .phase = std::string(phase == Phase::Prepare ? "prepare"
                                                        : phase == Phase::Open  ? "open"
                                                        : phase == Phase::Turn  ? "turn"
                                                                                : "timer"),
                                   .reason = error.message};
    const auto finish = [this, agent, error, then = std::move(then)](bool is_done) {
        asides_.erase(agent);
        if (on_stuck) on_stuck(agent, error);
        if (!is_done && is_started_) retry_later(kStuckRetry, agent);
        if (then) then(is_done);
        pump();
        check_drained();
    };
    committer_.background<Readable>(
        lifetime_,
        [&store = parts_.store, agent]() -> base::Result<Readable> {
            return load_readable(store, agent);
        },
        [this, fault, finish](base::Result<Readable> known) {
            if (!known) return finish(false);
            committer_.commit<Done>(
                lifetime_, {.durability = store::Durability::Disk},
                [fault, known = std::move(*known)](events::Log& log) -> base::Result<Done> {
                    TRY(scheduler::set_aside(log, known, fault));
                    return Done{};
                },
                [finish](const base::Result<Done>& done) { finish(done.has_value()); });
        });
}

// A turn or the opening of one cannot continue here. Its attempt, if it has one, stays open.
void Scheduler::turn_failed(const domain::AgentId& agent, const base::Error& error) {
    free_slot(agent);
    // Conflict and errors of the store may pass; any other would come again each time.
    if (fault_of(error) == FaultOf::World || error.code == base::ErrorCode::NotFound)
        stuck(agent, error);
    else
        set_aside(agent, Phase::Turn, error);
    pump();
}

void Scheduler::idle(const domain::AgentId& agent, const std::string& reason) {
    holds_.erase(agent);
    if (is_started_) alarm_.timers_changed();
    if (on_idle) on_idle(agent, reason);
}

void Scheduler::closed(const domain::AgentId& agent) {
    free_slot(agent);
    holds_.erase(agent);
    if (is_draining_) return check_drained();
    wake(agent);
    pump();
}

void Scheduler::stuck(const domain::AgentId& agent, const base::Error& error) {
    holds_.erase(agent);
    free_slot(agent);
    if (on_stuck) on_stuck(agent, error);
    if (is_started_ && error.code != base::ErrorCode::NotFound) retry_later(kStuckRetry, agent);
    check_drained();
}

// Losing an agent --------------------------------------------------------------------------------

// While a turn is open here, somebody may remove the file of its lock, and another process may take
// the agent: then two would work on one turn.
void Scheduler::watch_holds() {
    if (!options_.still_holds || is_watching_holds_) return;
    is_watching_holds_ = true;
    parts_.loop.after(kHoldCheck, lifetime_.guard([this] { check_holds(); }));
}

void Scheduler::check_holds() {
    using Agents = std::vector<domain::AgentId>;
    Agents held;
    for (const auto& [agent, hold] : holds_)
        if (runner_.is_running(agent)) held.push_back(agent);
    if (held.empty()) {
        is_watching_holds_ = false;
        return;
    }
    committer_.background<Agents>(
        lifetime_,
        [held = std::move(held), still_holds = options_.still_holds]() -> base::Result<Agents> {
            Agents lost;
            for (const auto& agent : held)
                if (!still_holds(agent)) lost.push_back(agent);
            return lost;
        },
        [this](const base::Result<Agents>& gone) {
            is_watching_holds_ = false;
            if (gone)
                for (const auto& agent : *gone) lost(agent);
            watch_holds();
        });
}

void Scheduler::lost(const domain::AgentId& agent) {
    if (!runner_.is_running(agent)) return;
    runner_.abandon(agent);
    stuck(agent, {.code = base::ErrorCode::Conflict,
                  .message = fmt::format(
                      "this process has lost the lock of agent {}: its file was removed or "
                      "replaced. The turn stays open for the process that has the agent now",
                      agent)});
    pump();
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

}  // namespace scheduler
