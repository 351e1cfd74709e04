// The slash commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tui {

enum class CommandName {
    Help, Agents, Agent, Events, Tasks, Work, Approvals, Transcript, State, Model, Compact, Plan, Search, Undo,
    Export, Display, Refresh, ClearStatus, Abort, Skills, SkillInstall, SkillUninstall, Attach, Enter, Leave,
    DebugPrompt, Quit,
};

struct CommandSpec {
    CommandName name;
    std::string_view word;   // "/display"
    std::string_view usage;  // "<info|verbose|debug|3|4|5>"
    std::string_view help;
};
std::span<const CommandSpec> commands();

struct Command {
    CommandName name{CommandName::Help};
    std::vector<std::string> arguments{};  // As many as its usage allows.
    std::string rest{};                    // The text after the word, for those that take text.
};
// A command line that begins with "/". InvalidInput says what is wrong and how it is used; an
// unknown word is Unused by the caller: it is sent as chat (nullopt).
base::Result<std::optional<Command>> read_command(std::string_view line);

}  // namespace tui
