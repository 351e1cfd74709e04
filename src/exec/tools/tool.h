// The seam to tools: what a tool declares, what it is given and what it gives back.
//
// A tool belongs to the registry for as long as the program runs; the dispatcher calls it on the
// loop, after it has checked the call. What a tool does to the world happens in start(); what it
// wants changed in the runtime's records it returns, and the caller commits that with the result.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/typed.h"
#include "domain/agent.h"
#include "domain/tool.h"
#include "domain/turn.h"
#include "exec/results/project.h"
#include "exec/sandbox/denials.h"
#include "exec/tools/mutation.h"

namespace tools {

// What a profile grants, family by family. Every tool is in exactly one.
enum class Family {
    CoreAgent,
    LocalEnvironment,
    Web,
    AgentCreation,
    AuthorityExpanding,
    OperatorNotification
};
BOOST_DESCRIBE_ENUM(Family, CoreAgent, LocalEnvironment, Web, AgentCreation, AuthorityExpanding,
                    OperatorNotification)

// What a tool's work runs behind, as a result document reports it.
enum class RunsBehind {
    Nothing,         // It happens in this program and starts nothing.
    AgentsBoundary,  // Commands, behind the boundary of the agent that asked.
    SharedBoundary   // A program that serves all agents, behind the boundary of all.
};

// Which of a tool's arguments are command lines, for people who read the record and for counts.
// None; One: `cmd`; Batch: the `cmd` of each of its `items`.
enum class CommandLines { None, One, Batch };

// What is known of a tool before it is called. Values that never change after registration.
struct ToolSpec {
    std::string name;         // Unique in the registry, as models and plans spell it.
    std::string description;  // For the model.
    Family family{Family::CoreAgent};
    domain::RiskLevel risk{domain::RiskLevel::ReadOnly};  // The worst that a call can do.
    std::string category;                                 // Groups tools in lists for people.
    RunsBehind runs_behind{RunsBehind::Nothing};
    // Nothing in the world changes before the result is committed, so a call that a crash cut off
    // is simply made again. Otherwise its outcome is unknown, and the model receives that.
    bool repeatable{false};
    // A round of nothing but such calls, all successful, ends the turn.
    bool sleeps{false};
    // Its result lists `changed_files`. A call that the output limit cut off is not made.
    bool changes_files{false};
    // It changes records that the agent works by. Neither is one of these made when it was cut off.
    bool changes_records{false};
    // A success counts as an update of the agent's work items.
    bool writes_work_items{false};
    // It completes the item of its `work_item_id`, with the text of its round as the report. A call
    // gets that round as its context, and its result has `completed_transition`.
    bool completes_work_item{false};
    CommandLines command_lines{CommandLines::None};
    bool freeform_patch{false};  // A model may send its input as plain patch text.
    bool web_search{false};      // A model's own search may be offered in its place.
    // Plans and people name it; models are not offered it in a turn and may not call it there.
    bool plans_only{false};
    json::object input_schema;          // A call that does not fit never reaches the tool.
    json::object output_schema;         // Every success is held to it; see Dispatcher.
    results::Renderer render{nullptr};  // Text for the model; null: the plain rendering.
    // Of a success in a plan, for people; null: the summary.
    std::string (*user_message)(const results::Envelope&){nullptr};
    // A call that is under way can be ended.
    bool cancellable{true};
};

// What the calls of a run that only pretends would have changed so far. Tools that can pretend read
// through it and add to it, in preview() and, if they only read, in start(). One call at a time.
struct Pretence {
    virtual ~Pretence() = default;
    domain::RunId run_id{};
    domain::SandboxPolicy sandbox{};  // Of the run: what a preview may touch.
};

// The execution context of a call: where it acts, as it was when the call was made. A value: later
// changes of the agent or its workspace do not reach a call that is under way.
struct ExecutionContext {
    domain::AgentId agent_id;
    std::filesystem::path agent_home;
    domain::WorkspaceEntry workspace;
    // What the host bound for a plan's run: activeFilePath, selection {start, end, text}, cursor.
    json::object context{};
    // Of a plan run that an agent owns: the agent's home, while `agent_home` is the run's folder.
    // Its commands see this one.
    std::filesystem::path owner_home{};
    // Of a plan run that takes back another one: the folder of that run, with what it kept.
    std::filesystem::path reverted{};
    std::shared_ptr<Pretence> pretence{};  // Of a preview only.
    // Why the turn may leave no further message for its own agent; absent while it may.
    std::optional<std::string> follow_up_refusal{};
};

// What a call has come to. The caller owns all of it.
struct Outcome {
    // The complete output, or the error that the model reads. It is projected later, maybe on
    // another thread, so it refers to nothing of the tool.
    results::Completed completed;
    // Ok unless the tool was stopped; a tool that ran and failed says so in `completed`.
    domain::ResultStatus status{domain::ResultStatus::Ok};
    domain::Effects effects{};          // What was observed to have changed in the world.
    std::vector<Mutation> mutations{};  // Committed with the result, or not at all.
    // What the boundary kept the call from; recorded with the result.
    std::vector<sandbox::Denial> denials{};
    std::optional<domain::SeenFiles> seen{};  // Absent where no file was read.
};

using Done = std::move_only_function<void(Outcome)>;

// What a tool found out about a call that a crash cut off.
struct Recovery {
    enum class How {
        Unknown,  // Nobody can say, or others have changed the same things since.
        NotMade,  // It has no effect (any more), so it can be made.
        Made      // It was complete; `outcome` is what it came to.
    };
    How how{How::Unknown};
    std::optional<Outcome> outcome{};
    json::array undo{};  // Of Unknown: what can be tried to take its changes back.
};

// A call that is under way. The caller owns the handle; dropping it cancels nothing.
class Running {
public:
    virtual ~Running() = default;
    // Ends what the call has started, processes included. Returns at once; the outcome still
    // arrives, as Cancelled unless the call was over first. A second cancel(), or one after the
    // outcome, does nothing. On the loop.
    virtual void cancel() = 0;
    // The file that gets what the call prints, as it comes; empty when there is none. People may
    // watch it; the outcome is the truth. On the loop.
    virtual std::filesystem::path live_output() const { return {}; }
};

// One tool. Used on the loop's thread only, which it must not block: what has to wait for a disk or
// a store is offloaded.
class Tool {
public:
    virtual ~Tool() = default;
    // The same value for the whole life of the tool.
    virtual const ToolSpec& spec() const = 0;

    // Begins the call and returns at once. `call.args` fit the schema and have passed check(). A
    // failure of any kind is an Outcome with an error: start() itself does not fail. `done` is
    // called exactly once, on the loop, unless what the tool works with is destroyed first; it may
    // be called before start() returns, and then the handle is null. A null handle otherwise means
    // that the call cannot be cancelled. `sink` lives at least until `done` was called.
    virtual std::shared_ptr<Running> start(const domain::ToolCall& call,
                                           const ExecutionContext& place,
                                           results::ArtifactSink& sink, Done done) = 0;

    // Would start() with this call, which a crash cut off, continue what it had begun? `done` comes
    // once, on the loop, maybe before can_resume() returns. False also when nobody can say: the
    // call's outcome is then reported as unknown.
    virtual void can_resume(const domain::ToolCall& /*call*/,
                            std::move_only_function<void(bool)> done) const {
        done(false);
    }

    // Settles a call that a crash cut off by checking what it changed; what it had begun and not
    // completed is taken back. `done` comes once, on the loop, maybe before recover() returns.
    virtual void recover(const domain::ToolCall& /*call*/, const ExecutionContext& /*place*/,
                         std::move_only_function<void(Recovery)> done) {
        done({});
    }

    // A more useful error for input that does not fit the schema, or nothing. Pure.
    virtual std::optional<domain::ToolError> explain(const json::value& /*args*/) const {
        return std::nullopt;
    }

    // A fault in input that fits the schema, but that the schema cannot express, or nothing. Pure.
    virtual std::optional<domain::ToolError> check(const json::value& /*args*/) const {
        return std::nullopt;
    }

    // Whether a call hands what it is given to a party that the call itself chooses. Such a call is
    // consequential even if it changes nothing here; see flow_policy.h. Pure.
    virtual bool sends_out(const json::value& /*args*/) const { return false; }

    // Paths that a call touches and that no arg names as one: those inside a patch, the folder in
    // which a command runs by default. Relative to the execution root, or absolute. Pure.
    virtual std::vector<std::string> paths(const json::value& /*args*/,
                                           const ExecutionContext& /*place*/) const {
        return {};
    }

    // What a call with these args would do in `place`, found out without changing anything. Any
    // thread may call it, and it may read files. An error: the call would fail. The object is
    // {creates: [path], modifies: [{path, diff}], renames: [{from, to}], deletes: [path],
    // commands: [text]}, absent lists being empty, and `data`, the result it would give, where that
    // is known. An empty object means that the tool cannot say; people then see its name and risk.
    virtual base::Result<json::object> preview(const json::value& /*args*/,
                                               const ExecutionContext& /*place*/) const {
        return json::object{};
    }
};

// The error that every tool gives for input that does not fit. `field` may be empty; `message` says
// what is wrong, `hint` what to send instead.
domain::ToolError invalid_input(std::string_view tool, std::string_view field, std::string message,
                                std::string hint);

}  // namespace tools
