// Prompts of MCP servers. What one expands to is the server's text, which nobody has read: it goes
// into the composer, and the operator sends it.
#include "base/text.h"
#include "surfaces/tui/compose/prompt_line.h"
#include "surfaces/tui/session/session.h"

namespace tui {

void Session::run_prompt(const std::string& line) {
    if (parts_.mcp == nullptr) return note("This runtime has no MCP servers");
    auto request = read_prompt_line(line);
    if (!request) return note(request.error().message);
    const std::string word = line.substr(0, line.find_first_of(" \t"));
    if (const auto* prompt = find_prompt(prompts_, word))
        if (const auto* argument = missing_argument(*prompt, *request))
            return ask_argument(line, *prompt, *argument);
    composer_.taken();
    note(
        fmt::format("Asking the MCP server {} for the text of {}", request->server, request->name));
    slow_.run(
        shared_from_this(),
        [this, request = std::move(*request)] { return parts_.mcp->expand(request); },
        [this, line](base::Result<service::McpPromptText> expanded) {
            show_expanded(line, std::move(expanded));
        });
}

// The draft is ready for the value.
void Session::ask_argument(const std::string& line, const service::McpPrompt& prompt,
                           const service::McpPromptArgument& argument) {
    const std::string name = argument.name + "=";
    const std::string draft(base::trim(line));
    if (!draft.ends_with(" " + name)) composer_.set_draft(draft + " " + name);
    note(fmt::format("{} needs {}{}", prompt.name, name,
                     argument.description.empty() ? "" : ": " + argument.description));
}

void Session::show_expanded(const std::string& line,
                            base::Result<service::McpPromptText> expanded) {
    if (!expanded) {
        if (composer_.is_empty()) composer_.set_draft(line);
        return note(expanded.error().message);
    }
    if (base::trim(expanded->text).empty())
        return note(
            fmt::format("The MCP server {} has no text for {}", expanded->server, expanded->name));
    expanded_ = std::move(*expanded);
    if (!composer_.is_empty())
        return note(
            fmt::format("The text of {} is ready; it comes when your draft is sent or "
                        "cleared",
                        expanded_->name));
    place_expanded();
}

void Session::place_expanded() {
    if (!expanded_ || !composer_.is_empty()) return;
    // A server's text is a message and never a command of the console: //x sends /x.
    const std::string& text = expanded_->text;
    composer_.set_draft(text.starts_with('/') ? "/" + text : text);
    expanded_at_ = parts_.clock.now();
    std::string left_out;
    for (const auto& kind : expanded_->left_out)
        left_out += (left_out.empty() ? " Left out: " : ", ") + kind;
    const auto lines = base::split_lines(text).size();
    if (lines > kComposerRowsMax || text.size() > kComposerRowsMax * size_.columns) {
        composer_.on_key({.name = KeyName::Home, .ctrl = true});  // It is read from its beginning.
        left_out +=
            fmt::format(" It is long ({}): Down shows more, Ctrl+G opens it in your editor.",
                        base::counted(static_cast<std::int64_t>(lines), "line"));
    }
    note(
        fmt::format("Text of the MCP server {}, which nobody has read: check it, then Enter sends "
                    "it as yours.{}",
                    expanded_->server, left_out));
    expanded_.reset();
}

}  // namespace tui
