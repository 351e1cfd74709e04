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
    Help,
    Agents,
    Agent,
    Events,
    Tasks,
    Work,
    Approvals,
    Plan,
    Undo,
    Compact,
    Transcript,
    State,
    Model,
    Mcp,
    Search,
    Export,
    Display,
    Refresh,
    ClearStatus,
    Abort,
    Skills,
    SkillInstall,
    SkillUninstall,
    Attach,
    Enter,
    Leave,
    DebugPrompt,
    Quit,
};

struct CommandSpec {
    CommandName name;
    std::string_view word;   // "/display"
    std::string_view usage;  // "<info|verbose|debug|3|4|5>"
    std::string_view help;
    bool has_effects{false};       // More than a view changes, so only its whole word runs it.
    std::size_t arguments_min{0};  // Words after the command.
    std::size_t arguments_max{0};
    bool takes_text{
        false};  // What follows is one text, blanks and all; arguments_min of 1: needed.
    std::span<const std::string_view>
        choices{};  // What its first argument may be; empty: anything.
};
std::span<const CommandSpec> commands();
// Begins a word that asks for a prompt of an MCP server, see prompt_line.h.
inline constexpr std::string_view kPromptWord = "/mcp:";
inline bool is_prompt_word(std::string_view word) {
    return word.starts_with(kPromptWord);
}
// The command of exactly this word, null when there is none.
const CommandSpec* find_command(std::string_view word);

struct Command {
    CommandName name{CommandName::Help};
    std::vector<std::string> arguments{};  // As many as its usage allows.
    std::string rest{};                    // The text after the word, for those that take text.
    friend bool operator==(const Command&, const Command&) = default;
};
// A command line that begins with "/". InvalidInput says what is wrong and how it is used; an
// unknown word is Unused by the caller: it is sent as chat (nullopt). The mode of Display is always
// its name: "4" is read as "verbose".
base::Result<std::optional<Command>> read_command(std::string_view line);

}  // namespace tui
