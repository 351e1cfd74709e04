// One function for each command, and their shared functions.
#pragma once

#include "surfaces/cli/cli.h"

namespace cli {

Exit on(const RunCommand& command, const Context& context);  // run.cc

Exit on(const StatusCommand& command, const Context& context);  // readers.cc
Exit on(const TranscriptCommand& command, const Context& context);
Exit on(const EventsCommand& command, const Context& context);
Exit on(const DebugPromptCommand& command, const Context& context);
Exit on(const TailCommand& command, const Context& context);          // tail.cc
Exit on(const DebugLatencyCommand& command, const Context& context);  // latency.cc

Exit on(const AgentListCommand& command, const Context& context);  // agents.cc
Exit on(const AgentCreateCommand& command, const Context& context);
Exit on(const AgentMoveCommand& command, const Context& context);
Exit on(const AgentDeleteCommand& command, const Context& context);
Exit on(const LifecycleCommand& command, const Context& context);
Exit on(const AbortCommand& command, const Context& context);
Exit on(const CompactCommand& command, const Context& context);
Exit on(const AgentModelGetCommand& command, const Context& context);
Exit on(const AgentModelSetCommand& command, const Context& context);
Exit on(const AgentModelClearCommand& command, const Context& context);

Exit on(const PromptCommand& command, const Context& context);  // control.cc
Exit on(const TaskCommand& command, const Context& context);
Exit on(const TimerCommand& command, const Context& context);
Exit on(const WorkspaceAttachCommand& command, const Context& context);
Exit on(const UndoCommand& command, const Context& context);
Exit on(const WorkspaceExitCommand& command, const Context& context);
Exit on(const WorkspaceDetachCommand& command, const Context& context);
Exit on(const TriggerCommand& command, const Context& context);
Exit on(const WebhookCommand& command, const Context& context);

Exit on(const WorkCommand& command, const Context& context);  // work.cc
Exit on(const WaitListCommand& command, const Context& context);

Exit on(const TemplatesCommand& command, const Context& context);  // skills.cc
Exit on(const SkillCommand& command, const Context& context);

Exit on(const MemorySearchCommand& command, const Context& context);  // search.cc
Exit on(const MemoryShowCommand& command, const Context& context);
Exit on(const SearchCommand& command, const Context& context);

inline std::string agent_of(const std::optional<std::string>& named, const Context& context) {
    return named.value_or(context.default_agent);
}

// Prints the answer of a command: JSON for scripts, sentences for people.
Exit answer(const Context& context, bool json, const json::value& value, const std::string& text);
inline bool wants_json(const Context& context, bool json) {
    return json || !context.terminal.is_for_people();
}

// "xai/grok-4 (this agent's own; the default is vllm/m)"
std::string model_text(const json::value& model);
// "3m ago"
std::string age_of(base::Time then, const Context& context);

template <class T>
json::array json_list(const std::vector<T>& records) {
    json::array list;
    for (const auto& record : records) list.push_back(base::to_json(record));
    return list;
}

}  // namespace cli
