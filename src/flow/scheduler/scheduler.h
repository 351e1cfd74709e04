// Brings agents to life when something is due for them, one turn at a time each.
//
// An agent at rest is rows: nothing is kept here for it. What is due is pushed (wake) or found by
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
#include "flow/scheduler/triggers.h"
#include "flow/turn/runner.h"
#include "record/events/committer.h"

namespace scheduler {

inline constexpr std::size_t kConcurrentTurnsDefault = 64;
// What an earlier process left is taken up in pages of this many agents.
inline constexpr std::int64_t kBacklogPage = 256;
// Timers that are due are fired this many at a time; others get their turn in between.
inline constexpr std::int64_t kTimerBatch = 64;
// How long to wait before another try: for an agent that another process runs, for a timer and for
// an agent whose commit failed.
inline constexpr std::chrono::seconds kForeignRetry{1};
inline constexpr std::chrono::seconds kFireRetry{5};
inline constexpr std::chrono::seconds kStuckRetry{10};
// How long turns may take to end when the runtime stops. What is left is taken up by the next.
inline constexpr std::chrono::seconds kDrainGrace{10};

struct Options {
    std::string model_ref;
    Limits limits{};
    // Turns open at once, over all agents. One that waits for a provider's limit does not count.
    std::size_t concurrent_turns_max{kConcurrentTurnsDefault};
    // Keeps an agent to this process while it is worked on; Conflict when another one has it.
    std::function<base::Result<std::shared_ptr<void>>(const domain::AgentId&)> hold{};
    // Makes what a new agent needs; may be asked again.
    std::function<base::Status(const domain::AgentId&)> boot{};
    TokenHash token_hash_of{};
};

// Guidance files as they are now; one that is missing or unreadable is simply not there.
std::vector<context::Guidance> read_guidance(
    const std::filesystem::path& home, const std::optional<domain::WorkspaceEntry>& workspace);

// Used on the loop's thread only. Nothing polls: an agent is looked at when it is woken and when a
// turn of it has closed. Agents that want a turn get them in the order they asked.
class Scheduler {
public:
    Scheduler(turn::Parts parts, Options options);
    ~Scheduler();

    // Serves all agents from now on: takes up, page by page, what an earlier process left, fires
    // timers, and tries again where a commit failed. Without it, only agents that are woken run.
    void start();

    // Starts no other turn, interrupts those that are open, and calls `done` when they are closed,
    // or after kDrainGrace. Nothing of this is kept: the next process goes on.
    void drain(std::function<void()> done);

    // Something may be due for the agent.
    void wake(const domain::AgentId& agent);
    // A timer may be due earlier than the one that is waited for.
    void timers_changed();

    // Stops the agent's turn and starts no other one in this process, until release(): the
    // interrupted message waits for whoever resumes the agent.
    void interrupt(const domain::AgentId& agent, std::string reason);
    void release(const domain::AgentId& agent);

    // Stops the agent's open turn, if it has one, because of a command that is already committed.
    void halt(const domain::AgentId& agent, std::string reason, turn::StopKind kind);

    // At most so many model rounds for the agent from now on; nothing: no such bound.
    void limit_rounds(const domain::AgentId& agent, std::optional<std::int64_t> rounds_total);

    // The agent has nothing to do, for the reason given.
    std::function<void(const domain::AgentId&, const std::string& reason)> on_rest;
    // A commit failed: nothing more is done for the agent for now, and nothing is lost.
    std::function<void(const domain::AgentId&, const base::Error&)> on_stuck;
    std::function<void(const domain::AgentId&, std::string_view)> on_text;

private:
    enum class Stage { OpenAttempts, WakeHints, Pending, Done };
    struct Halt {
        std::string reason;
        turn::StopKind kind;
    };
    struct Rounds {
        std::int64_t total{0};
        std::optional<std::int64_t> before{};  // total_model_rounds when first seen.
    };

    struct Prepared;

    void pump();
    void load_backlog();
    void add_backlog(const std::vector<domain::AgentId>& page);
    void tick(const domain::AgentId& agent);
    void prepared(const domain::AgentId& agent, Prepared found);
    void not_prepared(const domain::AgentId& agent, const base::Error& error);
    void resume(const domain::AgentId& agent, const Prepared& found);
    void open(const domain::AgentId& agent, OpenInput input);
    void ticked(const domain::AgentId& agent, Outcome outcome);
    void open_failed(const domain::AgentId& agent, const base::Error& error);
    void rested(const domain::AgentId& agent, const std::string& reason);
    void closed(const domain::AgentId& agent);
    void stuck(const domain::AgentId& agent, const base::Error& error);
    RoundBudget budget_of(const domain::AgentStatistics& statistics);
    void wait_for_timer(std::optional<base::Time> next);
    void fire_due();
    void fire_all(const std::vector<domain::Timer>& due);
    void fire(const domain::Timer& timer);
    void fired(bool is_committed);
    void give_up_timer(const domain::Timer& timer, const base::Error& error);
    void check_drained();
    void retry_later(std::chrono::microseconds delay, const domain::AgentId& agent);

    turn::Parts parts_;
    Options options_;
    turn::Runner runner_;

    std::deque<domain::AgentId> ready_;  // Wanting to be looked at, in the order they asked.
    std::set<domain::AgentId> ready_set_;
    std::set<domain::AgentId> ticking_;            // Being looked at.
    std::set<domain::AgentId> wanted_;             // Woken meanwhile.
    std::map<domain::AgentId, Halt> halts_;        // To be stopped as soon as the look is over.
    std::map<domain::AgentId, std::string> held_;  // Interrupted here, with the reason.
    std::map<domain::AgentId, Rounds> rounds_;     // Those that have a bound of their own.
    std::map<domain::AgentId, std::shared_ptr<void>> holds_;

    bool is_started_{false};
    Stage stage_{Stage::Done};
    bool is_loading_backlog_{false};
    bool is_loading_timers_{false};
    bool timers_changed_meanwhile_{false};
    domain::AgentId backlog_after_;
    base::Loop::TimerHandle due_timer_{base::Loop::TimerHandle::None};
    std::optional<base::Time> due_at_;  // What due_timer_ waits for.
    std::size_t firing_{0};
    bool fire_failed_{false};
    std::function<void()> drained_;
    bool is_draining_{false};
    base::Loop::TimerHandle grace_{base::Loop::TimerHandle::None};
    events::Committer committer_;
    base::Lifetime lifetime_;
};

}  // namespace scheduler
