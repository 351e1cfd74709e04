// One run of a plan as a state machine: a state and one event give what goes into the journal and
// what is to be done in the world. No store, clock, log or id source is touched: the time is a
// value of Input, its functions are pure, and the id of a call follows from its run and its number.
//
// The state is changed in place: a run of ten thousand steps would otherwise be copied ten thousand
// times. It may be ahead of the store only while a commit is on its way; when the commit fails, the
// state is thrown away and read again from the journal.
#pragma once

#include "exec/plan/run/state.h"
#include "exec/tools/dispatcher.h"

namespace plan {

// A pass over the plan begins: the first one, or another over what is left of an ended run.
struct Begin {};
// A new process found the run open.
struct Restarted {};
struct CallEnded {
    domain::ToolResult result;
    std::vector<sandbox::Denial> denials{};  // What the boundary kept the call from.
};
// What its tool found out about a call that a crash cut off.
struct CallRecovered {
    domain::ToolCallId call_id;
    tools::Recovery::How how{tools::Recovery::How::Unknown};
    std::optional<domain::ToolResult> result{};  // Of a call that was made.
    json::array undo{};                          // Of one of unknown outcome.
};
struct CancelAsked {
    std::string reason;
};
struct TimeOver {};
// A retry may be due.
struct Tick {};
// A call takes long; people who follow the run are to see that it is still running.
struct StillRunning {
    domain::ToolCallId call_id;
    std::chrono::milliseconds since{0};
};
using Event = std::variant<Begin, Restarted, CallEnded, CallRecovered, CancelAsked, TimeOver, Tick,
                           StillRunning>;

struct Dispatch {
    CallPtr call;
};
// Asks what became of a call that a crash cut off; CallRecovered is the answer.
struct Recover {
    CallPtr call;
};
// Ends a call for real; its result still comes.
struct EndCall {
    domain::ToolCallId call_id;
    domain::ResultStatus why{domain::ResultStatus::Cancelled};
};
struct WakeAt {
    base::Time at{};
};
struct RunDeadline {
    base::Time at{};
};
struct Ended {};
using Effect = std::variant<Dispatch, Recover, EndCall, WakeAt, RunDeadline, Ended>;

using Draft = std::variant<CallPtr, domain::ToolResult, RunEvent>;

// Everything one commit writes besides the run itself, and what follows it.
struct Delta {
    std::vector<Draft> drafts{};
    std::vector<Effect> effects{};
    // The commit must survive a power cut: the run begins or ends, or a call starts that must never
    // silently run twice.
    bool needs_disk{false};
};

struct Input {
    base::Time now{};
    std::function<domain::ToolCall(tools::Asked)> describe;
    // The result of a call that is not made, for the reason given; it begins and ends at `now`.
    std::function<domain::ToolResult(const domain::ToolCall&, domain::ToolError,
                                     domain::ResultStatus)>
        not_run;
    std::function<bool(const std::string& tool)> repeatable;
};

// The id of the run's call `number`, counted from 0 over all passes: a UUID of version 7 that sorts
// by `now`, and the same for the same values.
domain::ToolCallId call_id(const domain::RunId& run, std::int64_t number, base::Time now);

// Adds to `delta`. Events about calls that are no longer running change nothing.
void decide(State& state, const Event& event, const Input& input, Delta& delta);

}  // namespace plan
