// Every tool call, from any entry point, passes through the dispatcher: a check, a bound or a trace
// put here holds for turns, plans, the command line and the gate.
#pragma once

#include <functional>
#include <memory>

#include "base/ids.h"
#include "base/os/loop.h"
#include "exec/tools/outcomes/outcomes.h"
#include "exec/tools/proposals.h"
#include "exec/tools/registry.h"
#include "exec/tools/result_gate.h"

namespace tools {

// A call before it has a result: what was asked, by whom.
struct Asked {
    domain::ToolCallId call_id;
    domain::RunId run_id;
    std::string step_id;
    domain::CallSource source{domain::CallSource::Turn};
    std::string tool;
    json::value args;
    domain::AuthorityClass authority_class{domain::AuthorityClass::OperatorInstruction};
};

struct DispatcherParts {
    const Registry& registry;
    results::OutputPolicy output{};
    base::Clock& clock;
    base::Ids& ids;
    // Which calls of this agent untrusted input may trigger; see flow_policy.h.
    std::function<domain::ExternalCalls(const domain::AgentId&)> external_calls =
        [](const domain::AgentId&) { return domain::ExternalCalls::Refuse; };
    // Where such calls are sent for approval, offloaded from `loop`. Without one of the two they
    // are refused.
    Proposals* proposals{nullptr};
    // Results are projected in its background. None: on the thread that finishes the call.
    base::Loop* loop{nullptr};
    ResultGate* gate{nullptr};  // None: every result is passed on as it is.
};

class Dispatcher {
public:
    explicit Dispatcher(DispatcherParts parts);

    // The ToolCall envelope of a question: hashed, stamped, with risk and policy as they stand.
    domain::ToolCall describe(Asked asked, const ExecutionContext& place) const;

    // Why this call must not reach its tool, or nothing: unknown or unexposed tool, a family the
    // profile lacks, input that does not fit the schema.
    std::optional<domain::ToolError> refuse(const domain::ToolCall& call,
                                            domain::ProfilePreset profile) const;

    // The same, and whether those who asked for it may, and what the call's own policy says about
    // `place`: all that dispatch() asks first.
    std::optional<domain::ToolError> judge(const domain::ToolCall& call,
                                           domain::ProfilePreset profile,
                                           const ExecutionContext& place) const;

    // May a call that a crash cut off be made again without asking?
    bool is_repeatable(const std::string& tool) const;
    // The same for a call of any process. A tool that is gone may have been there for the process
    // that made the call, unless that one had the same tools.
    bool is_repeatable(const domain::ToolCall& call) const;
    // Would making it again continue what it had begun? `done` comes once, on the loop, maybe
    // before can_resume() returns.
    void can_resume(const domain::ToolCall& call, std::move_only_function<void(bool)> done) const;

    // What became of a call that a crash cut off, as its tool finds it. `done` comes once, on the
    // loop, maybe before recover() returns.
    struct Recovered {
        Recovery::How how{Recovery::How::Unknown};
        std::optional<Dispatched> made{};
        json::array undo{};
    };
    void recover(const domain::ToolCall& call, const ExecutionContext& place,
                 std::move_only_function<void(Recovered)> done);

    // Runs the call, or refuses it; either way `done` gets everything, once, on the loop. The
    // handle is null when the call is already over.
    std::shared_ptr<Running> dispatch(const domain::ToolCall& call, domain::ProfilePreset profile,
                                      const ExecutionContext& place,
                                      std::move_only_function<void(Dispatched)> done);

    // The result of a call that did not run, or whose end nobody saw.
    Dispatched without_running(const domain::ToolCall& call, domain::ToolError error,
                               domain::ResultStatus status) const;

    const Registry& registry() const { return parts_.registry; }

private:
    std::shared_ptr<results::ArtifactSink> sink_for(const domain::ToolCall& call,
                                                    const ExecutionContext& place) const;
    // Sends a call to the operator for approval; its result says so.
    std::shared_ptr<Running> propose(const domain::ToolCall& call, const ExecutionContext& place,
                                     std::move_only_function<void(Dispatched)> done);
    // The way out of the dispatcher: through the result gate, where one is set for this call.
    void leave(const domain::ToolCall& call, base::Time started_at, Outcome outcome,
               std::shared_ptr<results::ArtifactSink> sink,
               std::move_only_function<void(Dispatched)> done) const;
    // The result of a call that ran, and whose result must not be seen.
    Dispatched withheld(const domain::ToolCall& call, base::Time started_at, const Outcome& outcome,
                        domain::ToolError instead) const;
    // Projects the outcome of a call that ran, offloaded where there is a loop: large payloads are
    // written to disk. `done` comes on the loop.
    void finish(const domain::ToolCall& call, base::Time started_at,
                std::shared_ptr<Outcome> outcome, std::shared_ptr<results::ArtifactSink> sink,
                std::move_only_function<void(Dispatched)> done) const;

    DispatcherParts parts_;
};

}  // namespace tools
