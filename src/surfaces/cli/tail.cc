#include "base/text.h"
#include "surfaces/cli/actions.h"
#include "surfaces/cli/follow.h"

namespace cli {

Exit on(const TailCommand& command, const Context& context) {
    const auto briefs =
        context.service.briefs(command.agent.value_or(context.default_agent), command.limit);
    if (!briefs) return report(context.terminal, briefs.error());
    if (command.json || !context.terminal.out_is_terminal) {
        context.terminal.print_line(base::pretty_json(json_list(*briefs)));
        return Exit::Success;
    }
    for (const auto& brief : *briefs) {
        const auto age = std::chrono::duration_cast<std::chrono::seconds>(context.clock.now() -
                                                                          brief.created_at);
        context.terminal.print_line(fmt::format("{:<9} {:<8} {}", age_text(age.count()),
                                                base::enum_name(brief.kind),
                                                base::printable(brief.text, true)));
    }
    return Exit::Success;
}

}  // namespace cli
