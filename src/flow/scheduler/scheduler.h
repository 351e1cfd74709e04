// Brings agents to life when something is due for them, one turn at a time each.
//
// A sleeping agent is rows: nothing is kept here for it. What is due is pushed (wake) or found by
// an index: open attempts, hints and input that an earlier process left, and the one next timer.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "flow/scheduler/open.h"
#include "flow/scheduler/slots.h"
#include "flow/scheduler/timers/alarm.h"
#include "flow/scheduler/triggers.h"
#include "flow/turn/runner.h"
#include "record/events/committer.h"

namespace scheduler {

inline constexpr std::size_t kConcurrentTurnsDefault = 64;
// What an earlier process left is resumed in pages of this many agents.
inline constexpr std::int64_t kBacklogPage = 256;
// Turns open at once over all providers: so many times the bound for one provider.
inline constexpr std::size_t kProvidersAtOnce = 4;
// How long to wait before another try: for an agent that another process runs, for a message that
// no turn could be opened for, and for an agent whose commit failed.
inline constexpr std::chrono::seconds kForeignRetry{1};
inline constexpr std::chrono::seconds kOpenRetry{1};
inline constexpr std::chrono::seconds kStuckRetry{10};
// How often it is checked that the agents with an open turn are still held by this process.
inline constexpr std::chrono::seconds kHoldCheck{1};
// How long turns may take to end when the runtime stops. What is left is resumed by the next.
inline constexpr std::chrono::seconds kDrainGrace{10};

struct Options {
    std::string model_ref;
    Limits limits{};
    // Turns open at once that ask one provider, so that one that does not answer starves no other.
    // A turn that waits for a provider's limit does not count.
    std::size_t concurrent_turns_max{kConcurrentTurnsDefault};
    // Keeps an agent to this process while it is worked on; Conflict when another one has it. Any
    // thread.
    std::function<base::Result<std::shared_ptr<void>>(const domain::AgentId&)> hold{};
    // Is the agent still held by this process? Any thread; may block.
    std::function<bool(const domain::AgentId&)> still_holds{};
    // Makes what a new agent needs; may be asked again.
    std::function<base::Status(const domain::AgentId&)> boot{};
    TokenHash token_hash_of{};
};

// Used on the loop's thread only. Nothing polls: an agent is ticked when it is woken and when a
// turn of it has closed. Agents that want a turn get them in the order they asked.
class Scheduler {
public:
    Scheduler(turn::Parts parts, Options options);
    ~Scheduler();

    // Serves all agents from now on: resumes, page by page, what an earlier process left, fires
    // timers, and tries again where a commit failed. Without it, only agents that are woken run.
    void start();

    // Starts no other turn, interrupts those that are open, and calls `done` when they are closed,
    // or after kDrainGrace. Nothing of this is kept: the next process continues.
    void drain(std::function<void()> done);

    // Something may be due for the agent.
    void wake(const domain::AgentId& agent);
    // A timer may be due earlier than the one that is waited for.
    void timers_changed() { alarm_.timers_changed(); }

    // Stops the agent's turn and starts no other one in this process, until release(): the
    // interrupted message waits until the agent is resumed.
    void interrupt(const domain::AgentId& agent, std::string reason);
    void release(const domain::AgentId& agent);

    // Stops the agent's open turn, if it has one, because of a command that is already committed.
    void halt(const domain::AgentId& agent, std::string reason, turn::StopKind kind);

    // At most so many model rounds for the agent from now on; nothing: no such bound.
    void limit_rounds(const domain::AgentId& agent, std::optional<std::int64_t> rounds_total);

    // The agent has nothing to do, for the reason given.
    std::function<void(const domain::AgentId&, const std::string& reason)> on_idle;
    // A commit failed, the agent was set aside after a fault of its own, or another process has it:
    // nothing more is done for the agent for now, and nothing is lost.
    std::function<void(const domain::AgentId&, const base::Error&)> on_stuck;
    // Somebody began to watch the agent.
    void watch_output(const domain::AgentId& agent) { runner_.watch_output(agent); }
    // For people to watch; see turn::Runner. Set before the first agent is woken.
    std::function<void(const domain::AgentId&, const provider::News&)> on_news;
    std::function<void(const domain::AgentId&, const std::string& tool, const std::string& line)>
        on_output;
    std::function<bool(const domain::AgentId&)> is_watched;

private:
    enum class Stage { OpenAttempts, WakeHints, Pending, Work, Done };
    struct Halt {
        std::string reason;
        turn::StopKind kind;
    };
    struct Rounds {
        std::int64_t total{0};
        std::optional<std::int64_t> before{};  // total_model_rounds when first seen.
    };

    // Where the fault of a step came up, for the operator.
    enum class Phase { Prepare, Open, Turn, Timer };

    struct Prepared;

    void pump();
    void load_backlog();
    void add_backlog(const std::vector<domain::AgentId>& page);
    void tick(const domain::AgentId& agent);
    void prepared(const domain::AgentId& agent, Prepared found);
    bool takes_slot(const domain::AgentId& agent, Prepared& found);
    void call_waiting();
    void free_slot(const domain::AgentId& agent);
    // The agent waited for a slot and is next.
    void call(std::optional<domain::AgentId> agent);
    void not_prepared(const domain::AgentId& agent, const base::Error& error);
    void resume(const domain::AgentId& agent, const Prepared& found);
    void open(const domain::AgentId& agent, OpenInput input);
    void ticked(const domain::AgentId& agent, Outcome outcome);
    void open_failed(const domain::AgentId& agent, const base::Error& error);
    void set_aside(const domain::AgentId& agent, Phase phase, const base::Error& error,
                   std::function<void(bool is_done)> then = {});
    template <class Part>
    void guarded(const domain::AgentId& agent, Part part);
    void turn_failed(const domain::AgentId& agent, const base::Error& error);
    void watch_holds();
    void check_holds();
    void lost(const domain::AgentId& agent);
    void idle(const domain::AgentId& agent, const std::string& reason);
    void closed(const domain::AgentId& agent);
    void stuck(const domain::AgentId& agent, const base::Error& error);
    RoundBudget budget_of(const domain::AgentStatistics& statistics);
    void check_drained();
    void retry_later(std::chrono::microseconds delay, const domain::AgentId& agent);

    turn::Parts parts_;
    Options options_;
    turn::Runner runner_;

    std::deque<domain::AgentId> ready_;  // Wanting a tick, in the order they asked.
    std::set<domain::AgentId> ready_set_;
    std::set<domain::AgentId> ticking_;            // Being prepared or opened.
    std::set<domain::AgentId> wanted_;             // Woken meanwhile.
    std::set<domain::AgentId> asides_;             // Being set aside.
    std::map<domain::AgentId, Halt> halts_;        // To be stopped as soon as the tick is over.
    std::map<domain::AgentId, std::string> held_;  // Interrupted here, with the reason.
    std::map<domain::AgentId, Rounds> rounds_;     // Those that have a bound of their own.
    std::map<domain::AgentId, std::shared_ptr<void>> holds_;  // Those being ticked or running.
    bool is_watching_holds_{false};

    bool is_started_{false};
    Stage stage_{Stage::Done};
    bool is_loading_backlog_{false};
    domain::AgentId backlog_after_;
    std::function<void()> drained_;
    bool is_draining_{false};
    base::Loop::TimerHandle grace_{base::Loop::TimerHandle::None};
    events::Committer committer_;
    Slots slots_;  // Of turns that are open or about to be.
    std::shared_ptr<Claims> claims_;
    Alarm alarm_;
    base::Lifetime lifetime_;
};

}  // namespace scheduler
