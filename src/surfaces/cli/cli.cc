#include "surfaces/cli/cli.h"

#include "base/text.h"
#include "service/error_code.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/view/run_view.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"

namespace cli {

Exit report(const Terminal& terminal, const base::Error& error) {
    terminal.note("Error: " + base::printable(error.message, true));
    return Exit::Error;
}

json::object error_document(const base::Error& error) {
    return {
        {"ok", false}, {"error", base::to_utf8(error.message)}, {"code", service::code_of(error)}};
}

Exit report(const Command& command, const Terminal& terminal, const base::Error& error) {
    if (const auto* run = std::get_if<RunCommand>(&command)) {
        if (run->json) terminal.print_line(base::pretty_json(error_document(error)));
        if (run->stream_json) StreamView(terminal).fail(error);
    }
    return report(terminal, error);
}

std::string model_text(const json::value& model) {
    const std::string effective = show::pointer_text(model, "/effective_model");
    if (base::string_at(model, "source") != "agent_override")
        return (effective.empty() ? "none configured" : effective) + " (the default)";
    return fmt::format("{} (this agent's own; the default is {})", effective,
                       show::pointer_text(model, "/runtime_default_model"));
}

std::string age_of(base::Time then, const Context& context) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(context.clock.now() - then);
    return show::age_text(age.count());
}

Exit answer(const Context& context, bool json, const json::value& value, const std::string& text) {
    context.terminal.print_line(wants_json(context, json) ? base::pretty_json(value) : text);
    return Exit::Success;
}

Exit settle(const Terminal& terminal, Exit exit) {
    if (terminal.is_written() || exit != Exit::Success) return exit;
    // A reader that closes its pipe has seen enough, as in `holon events | head`.
    if (terminal.out_is_pipe()) return Exit::Error;
    return report(terminal, {base::ErrorCode::Io, "the output could not be written"});
}

Exit give(const Terminal& terminal, bool json, const Answered& answer) {
    if (!answer) return report(terminal, answer.error());
    const bool as_json = json || !terminal.is_for_people();
    terminal.print_line(as_json ? base::pretty_json(answer->data) : answer->text);
    return settle(terminal, answer->exit);
}

Exit execute(const Command& command, const Context& context) {
    const Exit exit = std::visit([&](const auto& action) { return on(action, context); }, command);
    return settle(context.terminal, exit);
}

}  // namespace cli
