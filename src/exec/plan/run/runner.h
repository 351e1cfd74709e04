// Executes one run: commits what was decided, performs it, and turns what comes back into the next
// event. What comes back while a commit is on its way shares the next one.
//
// Nothing here is the truth. A Runner that dies is replaced by another that reads the journal.
#pragma once

#include <memory>

#include "base/os/loop.h"
#include "exec/plan/run/decide.h"

namespace plan {

// How long a call that was asked to end may take before its result is written without it.
inline constexpr std::chrono::seconds kEndGrace{15};

// When a call that is still running is reported, first; the pauses double up to the longest.
inline constexpr std::chrono::seconds kProgressFirst{5};
inline constexpr std::chrono::seconds kProgressPauseMax{60};

// One commit of a run: its record and what is new in its journal.
struct Commit {
    domain::PlanRun run;  // With its inputs in the first commit, and when it is over.
    std::vector<domain::PlanRecord> records{};
    bool needs_disk{false};
};

// Where commits go. `done` is called once, on the loop, never before commit() has returned, unless
// the Journal goes first.
class Journal {
public:
    virtual ~Journal() = default;
    virtual void commit(std::shared_ptr<const Commit> commit,
                        std::move_only_function<void(base::Status)> done) = 0;
};

// Who makes the calls: the dispatcher, or, for a preview or a replay, a pretence.
class Performer {
public:
    virtual ~Performer() = default;
    // `done` is called once, on the loop; before start() returns when the call is over already, and
    // then the handle is null.
    virtual std::shared_ptr<tools::Running> start(
        const CallPtr& call, std::move_only_function<void(CallEnded)> done) = 0;
    // Finds out what became of a call that a crash cut off. `done` is called once, on the loop,
    // maybe before recover() returns.
    virtual void recover(const CallPtr& call, std::move_only_function<void(CallRecovered)> done) {
        done({.call_id = call->call_id});
    }
};

struct RunnerParts {
    base::Loop& loop;
    base::Clock& clock;
    const tools::Dispatcher& dispatcher;  // To describe calls and to judge tools; never to call.
    Journal& journal;
    Performer& performer;
    tools::ExecutionContext place;
    bool reports_progress{false};  // Of calls that take long; not where time is made up.
};

// Used on the loop's thread only.
class Runner {
public:
    Runner(RunnerParts parts, State state);
    ~Runner();

    void begin() { receive(Begin{}); }
    void restart() { receive(Restarted{}); }
    void cancel(std::string reason) { receive(CancelAsked{std::move(reason)}); }
    // Starts no more calls. `quiet` is called once those under way have ended and are committed, if
    // the run has not ended by then; it must not destroy the Runner.
    void hold(std::function<void()> quiet);

    const State& state() const { return state_; }

    // Each commit, once it is safe.
    std::function<void(const Commit&)> on_commit;
    std::function<void()> on_ended;
    // A commit failed for good: nothing more can be done here, and the run stays open.
    std::function<void(const base::Error&)> on_stuck;

private:
    struct Flight;

    void receive(Event event);
    void pump();
    void committed(const std::vector<Effect>& effects, const base::Status& status);
    void act(const Effect& effect);
    void dispatch(const CallPtr& call);
    void report_later(const std::shared_ptr<Flight>& flight, std::chrono::seconds since,
                      std::chrono::seconds pause);
    void recover(const CallPtr& call);
    void end_call(const domain::ToolCallId& id, domain::ResultStatus why);
    void call_ended(const std::string& id, CallEnded ended);
    void notify_quiet();
    Input input() const;

    RunnerParts parts_;
    State state_;
    std::vector<Event> inbox_;
    bool pump_posted_{false};
    bool committing_{false};
    bool is_first_commit_{true};
    bool is_over_{false};
    std::function<void()> quiet_;
    std::map<std::string, std::shared_ptr<Flight>> flights_;
    std::size_t recovering_{0};
    base::Loop::TimerHandle wake_{base::Loop::TimerHandle::None};
    base::Loop::TimerHandle deadline_{base::Loop::TimerHandle::None};
    // Callbacks that outlive the Runner find this expired and do nothing.
    std::shared_ptr<Runner*> self_;
};

}  // namespace plan
