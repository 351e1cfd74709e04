// What the families have in common: offloaded work, a typed answer, cancellation.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "exec/tools/plan_tools/plan_tools.h"
#include "exec/tools/vault/decide.h"

namespace plan_tools {

// Where each run's selection and cursor are by now: an edit moves them, and the next call of the
// run has to find them there. Kept in memory only: after a restart a run is back at the context it
// was started with. Used on the loop.
class Contexts {
public:
    static constexpr std::size_t kRunsMax = 256;  // The oldest is forgotten.

    explicit Contexts(ContextOf started_with) : started_with_(std::move(started_with)) {}
    RunContext of(const domain::RunId& run, const tools::ExecutionContext& place) const;
    void moved(const domain::RunId& run, RunContext context);

private:
    ContextOf started_with_;
    std::vector<std::pair<domain::RunId, RunContext>> moved_;
};

// What the families are made from.
struct Kit {
    Host host;
    std::shared_ptr<Contexts> contexts;
};

// A result as it will be recorded; its family has bounded it already.
struct Answer {
    std::string summary;
    json::object result;
};

struct AnswerOutput final : results::Output {
    explicit AnswerOutput(Answer answer) : answer(std::move(answer)) {}
    Answer answer;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{answer.summary, answer.result};
    }
};

// What a call is given. `context` was loaded on the loop.
struct Request {
    json::value args;
    tools::ExecutionContext place;
    domain::SandboxPolicy sandbox{};  // Which paths of the vault the call may touch.
    RunContext context{};
    const std::atomic<bool>* stop{nullptr};
    bool first_try{false};  // Of a change that is executed; never in a preview.

    // `args` fit the schema that was derived from T.
    template <class T>
    T as() const {
        return base::from_json<T>(args).value();
    }
};

// The vault, with what the policy of the call leaves of it.
vault::Outcome<vault::Root> open_vault(const tools::ExecutionContext& place,
                                       const domain::SandboxPolicy& sandbox);

// Reads, and changes nothing. Any thread may call it.
using Reader = std::function<vault::Outcome<Answer>(const vault::Root&, const Request&)>;

// A change: decided without side effects, executed, and then reported.
struct Change {
    std::function<vault::Outcome<vault::Decision>(const vault::Root&, const Request&)> decide;
    std::function<Answer(const Request&, const vault::Done&)> report;
    // The files that the call names and changes; they are locked before it is decided.
    std::function<std::set<std::string>(const Request&)> files{};
    // Called on the loop once it is done, for what the next call has to know.
    std::function<void(const domain::RunId&, const Request&, const vault::Done&)> after{};
};

// The parts of a spec that differ; all others follow from whether the tool reads or changes.
struct About {
    std::string name;
    std::string category;
    std::string description;
    json::object input_schema;
    json::object output_schema;
};

// The args that name files, for Change::files.
std::set<std::string> files_named(const Request& request,
                                  std::initializer_list<std::string_view> args);

std::unique_ptr<tools::Tool> read_tool(const Kit& kit, About about, Reader reader);
std::unique_ptr<tools::Tool> change_tool(const Kit& kit, About about, Change change);

// A tool that needs no file: answered at once.
using Compute = std::function<vault::Outcome<Answer>(const Request&)>;
std::unique_ptr<tools::Tool> compute_tool(const Kit& kit, About about, Compute compute);

template <class Args, class Result>
About about(std::string name, std::string category, std::string description) {
    return {std::move(name), std::move(category), std::move(description), base::schema_of<Args>(),
            base::schema_of<Result>()};
}

template <class Result>
Answer answer(std::string summary, const Result& result) {
    return {std::move(summary), base::to_json(result).as_object()};
}

// A command that ended badly fails its step, so that a plan does not build on it. `name` is how the
// message calls it.
tools::Outcome held_to_success(tools::Outcome outcome, const std::string& name);

void add_vault(tools::Registry& registry, const Kit& kit);
void add_editor(tools::Registry& registry, const Kit& kit);
void add_workspace(tools::Registry& registry, const Kit& kit);
void add_commands(tools::Registry& registry, const Kit& kit);
void add_util(tools::Registry& registry, const Kit& kit);
void add_undo(tools::Registry& registry, const Kit& kit);
void add_shell(tools::Registry& registry, const Kit& kit);

}  // namespace plan_tools
