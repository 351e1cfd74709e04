#include "surfaces/tui/compose/commands.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tui {
namespace {

using base::ErrorCode;

constexpr auto kAgentActions =
    std::to_array<std::string_view>({"switch", "create", "start", "stop"});
constexpr auto kDisplayModes =
    std::to_array<std::string_view>({"info", "verbose", "debug", "3", "4", "5"});
constexpr char kFirstModeNumber = '3';  // Of "info"; the others follow.
constexpr std::size_t kDisplayModeNames = 3;

constexpr auto kCommands = std::to_array<CommandSpec>({
    {CommandName::Help, "/help", "", "keys and commands"},
    {CommandName::Agents, "/agents", "", "all agents, and switch to another"},
    {.name = CommandName::Agent,
     .word = "/agent",
     .usage = "<switch|create|start|stop> [name]",
     .help = "switch to, create, start or stop an agent",
     .has_effects = true,
     .arguments_min = 1,
     .arguments_max = 2,
     .choices = kAgentActions},
    {CommandName::Tasks, "/tasks", "", "background tasks with their output"},
    {CommandName::Work, "/work", "", "work items"},
    {CommandName::Approvals, "/approvals", "", "what waits for your approval"},
    {.name = CommandName::Plan,
     .word = "/plan",
     .usage = "[file or saved plan]",
     .help = "plan runs; with a plan: preview and run it",
     .takes_text = true},
    {.name = CommandName::Undo,
     .word = "/undo",
     .usage = "[patches]",
     .help = "undo the agent's last patches",
     .has_effects = true,
     .arguments_max = 1},
    {.name = CommandName::Compact,
     .word = "/compact",
     .usage = "",
     .help = "compact the conversation now",
     .has_effects = true},
    {CommandName::Transcript, "/transcript", "", "the whole transcript"},
    {CommandName::Events, "/events", "", "raw events"},
    {CommandName::State, "/state", "", "the agent's state"},
    {.name = CommandName::Display,
     .word = "/display",
     .usage = "<info|verbose|debug|3|4|5>",
     .help = "how much the conversation shows",
     .arguments_min = 1,
     .arguments_max = 1,
     .choices = kDisplayModes},
    {.name = CommandName::Model,
     .word = "/model",
     .usage = "[model]",
     .help = "choose the agent's model from a list, or by name",
     .arguments_max = 1},
    {CommandName::Mcp, "/mcp", "", "prompts of MCP servers; /mcp:<server>:<prompt> uses one"},
    {.name = CommandName::Search,
     .word = "/search",
     .usage = "<words>",
     .help = "find words in the conversation",
     .arguments_min = 1,
     .takes_text = true},
    {.name = CommandName::Export,
     .word = "/export",
     .usage = "[file]",
     .help = "write the conversation to a file",
     .has_effects = true,
     .takes_text = true},
    {.name = CommandName::Abort,
     .word = "/abort",
     .usage = "",
     .help = "abort the current turn",
     .has_effects = true},
    {.name = CommandName::Attach,
     .word = "/attach",
     .usage = "<folder>",
     .help = "attach a workspace to the agent",
     .has_effects = true,
     .arguments_min = 1,
     .takes_text = true},
    {.name = CommandName::Enter,
     .word = "/enter",
     .usage = "<workspace>",
     .help = "let the agent work in an attached workspace",
     .has_effects = true,
     .arguments_min = 1,
     .takes_text = true},
    {.name = CommandName::Leave,
     .word = "/leave",
     .usage = "",
     .help = "let the agent leave its workspace",
     .has_effects = true},
    {CommandName::Skills, "/skills", "", "the agent's skills"},
    {.name = CommandName::SkillInstall,
     .word = "/skill-install",
     .usage = "<name>",
     .help = "install a skill for the agent",
     .has_effects = true,
     .arguments_min = 1,
     .arguments_max = 1},
    {.name = CommandName::SkillUninstall,
     .word = "/skill-uninstall",
     .usage = "<name>",
     .help = "uninstall a skill of the agent",
     .has_effects = true,
     .arguments_min = 1,
     .arguments_max = 1},
    {.name = CommandName::DebugPrompt,
     .word = "/debug-prompt",
     .usage = "[text]",
     .help = "the prompt that a text would lead to",
     .takes_text = true},
    {CommandName::Refresh, "/refresh", "", "load everything again"},
    {CommandName::ClearStatus, "/clear-status", "", "empty the status line"},
    {.name = CommandName::Quit,
     .word = "/quit",
     .usage = "",
     .help = "leave the console; agents continue",
     .has_effects = true},
});

std::string usage_of(const CommandSpec& spec) {
    return spec.usage.empty() ? std::string(spec.word)
                              : fmt::format("{} {}", spec.word, spec.usage);
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (text = base::trim(text); !text.empty(); text = base::trim(text)) {
        const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

base::Status check_agent(const CommandSpec& spec, const std::vector<std::string>& arguments) {
    const auto& action = arguments.front();
    if (action == "pause" || action == "resume")
        return base::fail(
            ErrorCode::InvalidInput, "/agent has no {}. Use /agent {} to {} an agent.", action,
            action == "pause" ? "stop" : "start", action == "pause" ? "stop" : "start");
    if (std::ranges::find(kAgentActions, action) == kAgentActions.end())
        return base::fail(ErrorCode::InvalidInput, "/agent cannot {}. Usage: {}",
                          base::printable(base::ellipsize(action, 40)), usage_of(spec));
    if ((action == "switch" || action == "create") && arguments.size() < 2)
        return base::fail(ErrorCode::InvalidInput, "/agent {0} needs a name: /agent {0} <name>",
                          action);
    return {};
}

base::Status read_display(const CommandSpec& spec, std::string& mode) {
    const auto* const found = std::ranges::find(kDisplayModes, std::string_view(mode));
    if (found == kDisplayModes.end())
        return base::fail(ErrorCode::InvalidInput, "there is no display mode {}. Usage: {}{}",
                          base::printable(base::ellipsize(mode, 40)), usage_of(spec),
                          mode == "trace" ? "; raw events are in /events" : "");
    if (mode.size() == 1)
        mode = kDisplayModes.at(static_cast<std::size_t>(mode.front() - kFirstModeNumber) %
                                kDisplayModeNames);
    return {};
}

base::Status check_count(const CommandSpec& spec, std::size_t count) {
    if (count < spec.arguments_min)
        return base::fail(ErrorCode::InvalidInput, "{} needs more. Usage: {}", spec.word,
                          usage_of(spec));
    if (!spec.takes_text && count > spec.arguments_max)
        return base::fail(ErrorCode::InvalidInput,
                          "{} takes {}. Usage: {}. To send it as a message, write /{}", spec.word,
                          spec.arguments_max == 0 ? "nothing after it" : "fewer words",
                          usage_of(spec), spec.word);
    return {};
}

}  // namespace

std::span<const CommandSpec> commands() {
    return kCommands;
}

const CommandSpec* find_command(std::string_view word) {
    const auto* const found = std::ranges::find(kCommands, word, &CommandSpec::word);
    return found == kCommands.end() ? nullptr : found;
}

base::Result<std::optional<Command>> read_command(std::string_view line) {
    const std::size_t end = std::min(line.find_first_of(" \t\n"), line.size());
    const CommandSpec* const spec = find_command(line.substr(0, end));
    if (spec == nullptr) return std::nullopt;
    const std::string_view rest = base::trim(line.substr(end));
    if (line.substr(end).find('\n') != std::string_view::npos)
        return base::fail(ErrorCode::InvalidInput,
                          "{0} is a command of one line. To send all of it as a message, begin it "
                          "with /{0}",
                          spec->word);
    Command command{.name = spec->name, .arguments = words_of(rest)};
    if (auto checked = check_count(*spec, command.arguments.size()); !checked)
        return std::unexpected(std::move(checked).error());
    if (spec->name == CommandName::Agent)
        if (auto checked = check_agent(*spec, command.arguments); !checked)
            return std::unexpected(std::move(checked).error());
    if (spec->name == CommandName::Display)
        if (auto checked = read_display(*spec, command.arguments.front()); !checked)
            return std::unexpected(std::move(checked).error());
    if (spec->takes_text) {
        command.rest = rest;
        command.arguments.clear();
    }
    return command;
}

}  // namespace tui
