// The tools that come with the program. One file each; this header lists how they are made.
#pragma once

#include <functional>
#include <memory>

#include "exec/tasks/host.h"
#include "exec/tools/builtin/shell.h"
#include "exec/tools/tool.h"

namespace builtin {

std::unique_ptr<tools::Tool> sleep();
// `summary` reads the agent as operators see it.
std::unique_ptr<tools::Tool> agent_get(
    std::function<base::Result<json::object>(const domain::AgentId&)> summary);
std::unique_ptr<tools::Tool> enqueue();
std::unique_ptr<tools::Tool> apply_patch(base::Loop& loop);
std::unique_ptr<tools::Tool> task_list(tasks::Host& host);
std::unique_ptr<tools::Tool> task_status(tasks::Host& host);
std::unique_ptr<tools::Tool> task_input(tasks::Host& host);
std::unique_ptr<tools::Tool> task_output(tasks::Host& host, base::Loop& loop);
std::unique_ptr<tools::Tool> task_stop(tasks::Host& host);
std::unique_ptr<tools::Tool> exec_command(Shell& shell, tasks::Host& host);
std::unique_ptr<tools::Tool> exec_command_batch(Shell& shell);

// Runs one command to its end, for a tool of another name. It never becomes a task.
std::shared_ptr<tools::Running> start_command(Shell& shell, CommandSpec spec, std::string tool,
                                              const tools::Place& place,
                                              results::ArtifactSink& sink, tools::Done done);

// A short textual confirmation: the summary, for tools with nothing more to show.
std::string render_summary(const results::Envelope& envelope);

}  // namespace builtin
