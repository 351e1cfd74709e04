// The seam to tools: what a tool declares, what it is given and what it gives back.
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

// What a profile grants, family by family.
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

// What a tool's work runs behind, as a result document tells it.
enum class RunsBehind {
    Nothing,         // It happens in this program and starts nothing.
    AgentsBoundary,  // Commands, behind the boundary of the agent that asked.
    SharedBoundary   // A program that serves all agents, behind the boundary of all.
};

struct ToolSpec {
    std::string name;
    std::string description;
    Family family{Family::CoreAgent};
    domain::RiskLevel risk{domain::RiskLevel::ReadOnly};
    std::string category;
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
    bool freeform_patch{false};
    // Plans and people name it; models are not offered it in a turn and may not call it there.
    bool plans_only{false};
    json::object input_schema;
    json::object output_schema;  // Every success is held to it; see Dispatcher.
    results::Renderer render{nullptr};
};

// Where a call acts, as it stood when the call was made.
struct Place {
    domain::AgentId agent_id;
    std::filesystem::path agent_home;
    domain::WorkspaceEntry workspace;
    // What the host bound for a plan's run: activeFilePath, selection {start, end, text}, cursor.
    json::object context{};
};

struct Outcome {
    results::Completed completed;
    // Ok unless the tool was stopped; a tool that ran and failed says so in `completed`.
    domain::ResultStatus status{domain::ResultStatus::Ok};
    domain::Effects effects{};
    std::vector<Mutation> mutations{};  // Committed with the result.
    // What the boundary kept the call from: goes into the record with the result.
    std::vector<sandbox::Denial> denials{};
};

using Done = std::move_only_function<void(Outcome)>;

// A call on its way. cancel() ends what it started for real; the outcome still arrives.
class Running {
public:
    virtual ~Running() = default;
    virtual void cancel() = 0;
};

// One tool. Used on the loop's thread only; start() returns at once.
class Tool {
public:
    virtual ~Tool() = default;
    virtual const ToolSpec& spec() const = 0;

    // `call.args` fit the schema. `done` is called exactly once, on the loop; it may be called
    // before start() returns, and then the handle is null.
    virtual std::shared_ptr<Running> start(const domain::ToolCall& call, const Place& place,
                                           results::ArtifactSink& sink, Done done) = 0;

    // Would start() with this call, which a crash cut off, continue what it had begun? `done` comes
    // once, on the loop, maybe before can_resume() returns. False also when nobody can say: the
    // call's outcome is then reported as unknown.
    virtual void can_resume(const domain::ToolCall& /*call*/,
                            std::move_only_function<void(bool)> done) const {
        done(false);
    }

    // A better word for input that does not fit the schema, or nothing.
    virtual std::optional<domain::ToolError> explain(const json::value& /*args*/) const {
        return std::nullopt;
    }

    // A fault in the input that the schema cannot express, or nothing.
    virtual std::optional<domain::ToolError> check(const json::value& /*args*/) const {
        return std::nullopt;
    }

    // What a call with these args would do in `place`, found out without touching anything:
    // {creates: [path], modifies: [{path, diff}], renames: [{from, to}], deletes: [path],
    // commands: [text]}, absent lists being empty, and `data`, the result it would give, where that
    // is known. An empty object says only that the tool does not tell; people are then shown its
    // name and risk.
    virtual base::Result<json::object> preview(const json::value& /*args*/,
                                               const Place& /*place*/) const {
        return json::object{};
    }
};

// The error every tool gives for input that does not fit.
domain::ToolError invalid_input(std::string_view tool, std::string_view field, std::string message,
                                std::string hint);

}  // namespace tools
