// The tools that come with the program. One file each; this header lists how they are made.
#pragma once

#include <functional>
#include <memory>

#include "config/agents/children.h"
#include "exec/tasks/host.h"
#include "exec/tools/builtin/commands/shell.h"
#include "exec/tools/tool.h"

namespace builtin {

std::unique_ptr<tools::Tool> sleep();
// `summary` reads the agent as operators see it, with the files of its skills: in the background,
// on any thread.
std::unique_ptr<tools::Tool> agent_get(
    base::Loop& loop, std::function<base::Result<json::object>(const domain::AgentId&)> summary);
std::unique_ptr<tools::Tool> enqueue();
std::unique_ptr<tools::Tool> apply_patch(base::Loop& loop);
std::unique_ptr<tools::Tool> task_list(tasks::Host& host);
std::unique_ptr<tools::Tool> task_status(tasks::Host& host);
std::unique_ptr<tools::Tool> task_input(tasks::Host& host);
std::unique_ptr<tools::Tool> task_output(tasks::Host& host, base::Loop& loop);
std::unique_ptr<tools::Tool> task_stop(tasks::Host& host);
std::unique_ptr<tools::Tool> exec_command(Shell& shell, tasks::Host& host);
std::unique_ptr<tools::Tool> exec_command_batch(Shell& shell);

struct WorkspaceParts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
    base::ProcessRunner& processes;
    // Of git, as far as it needs one.
    std::vector<std::pair<std::string, std::string>> environment{};
    // What git runs behind, for this agent; null: nothing.
    std::function<const sandbox::Boundary*(const domain::AgentId&)> boundary_of =
        [](const domain::AgentId&) { return nullptr; };
    std::filesystem::path runtime_home{};  // No workspace lies in it, but for the agent's own home.
    std::function<domain::Execution(const domain::AgentId&)> execution_of =
        [](const domain::AgentId&) { return domain::Execution{}; };
};
std::unique_ptr<tools::Tool> use_workspace(WorkspaceParts parts);

struct SpawnParts {
    WorkspaceParts workspace;
    config::Children limits{};
    std::function<std::filesystem::path(const domain::AgentId&)> home_of =
        [](const domain::AgentId&) { return std::filesystem::path(); };
    // Makes the home of a new agent from a template; without one the runtime completes it when the
    // agent first runs. Blocks; any thread.
    std::function<base::Status(const domain::AgentId&, const std::string& template_name)>
        make_home = [](const domain::AgentId&, const std::string&) {
            return base::Status(
                base::fail(base::ErrorCode::Unavailable, "there are no templates here"));
        };
    // Do the same settings (sandbox, gate, external calls) hold for both? Any thread.
    std::function<bool(const domain::AgentId&, const domain::AgentId&)> share_settings =
        [](const domain::AgentId&, const domain::AgentId&) { return true; };
};
std::unique_ptr<tools::Tool> spawn_agent(SpawnParts parts);

// Runs one command to its end, for a tool of another name. It never becomes a task.
std::shared_ptr<tools::Running> start_command(Shell& shell, CommandSpec spec, std::string tool,
                                              const tools::ExecutionContext& place,
                                              results::ArtifactSink& sink, tools::Done done);

// A short textual confirmation: the summary, for tools with nothing more to show.
std::string render_summary(const results::Envelope& envelope);

}  // namespace builtin
