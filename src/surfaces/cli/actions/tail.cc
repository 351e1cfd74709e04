#include <algorithm>
#include <functional>

#include "base/text.h"
#include "domain/events/messages.h"
#include "domain/events/turn.h"
#include "service/views/presentation.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/actions/follow.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/markdown/markdown.h"
#include "surfaces/show/times.h"

namespace cli {
namespace {

// How many past events a follower reads for its first rows.
constexpr std::int64_t kLookBack = 2000;

Style style_of(const views::PresentedEvent& presented) {
    switch (presented.visibility) {
        case views::Visibility::ActionRequired:
            return Style::Yellow;
        case views::Visibility::WorkDone:
            return Style::Green;
        case views::Visibility::TurnResult:
            return Style::Plain;
        case views::Visibility::Progress:
        case views::Visibility::Trace:
            return Style::Dim;
    }
    return Style::Plain;
}

// What the operator wrote; nothing for any other event.
std::optional<std::string> own_prompt(const domain::Event& event) {
    const auto queued = domain::events::read<domain::events::MessageEnqueued>(event);
    if (!queued || !std::holds_alternative<domain::OperatorOrigin>(queued->origin))
        return std::nullopt;
    return base::printable(domain::readable(queued->body), true);
}

// The text of the last round comes again as the result.
bool is_answer(const domain::Event& event) {
    const auto round = domain::events::read<domain::events::AssistantRoundRecorded>(event);
    return round && !round->has_tool_calls;
}

// One row per event, as in a log; results with their whole text.
class EventRows {
public:
    EventRows(const TailCommand& command, const Context& context)
        : context_(context), mode_(command.display), json_(wants_json(context, command.json)) {}

    std::optional<std::string> row(const domain::Event& event) const {
        const auto presented = views::present(event);
        if (!json_)
            if (const auto prompt = own_prompt(event))
                return laid_out(show::local_clock(event.created_at), "You", *prompt, Style::Bold);
        if (!views::is_shown(event, presented, mode_) || (!json_ && is_answer(event)))
            return std::nullopt;
        if (json_) {
            json::object line = base::to_json(presented).as_object();
            line["event_seq"] = event.event_seq;
            line["ts"] = base::to_text(event.created_at);
            return base::json_text(line);
        }
        const bool is_result = views::level_of(presented.visibility) <= 3 && presented.body;
        const std::string clock = show::local_clock(event.created_at);
        const std::string title = base::printable(presented.title);
        const Style style = style_of(presented);
        // An answer looks as it does in `holon run`.
        if (is_result && style == Style::Plain && context_.terminal.out_is_terminal)
            return laid_out(clock, title, [&](std::size_t columns) {
                std::vector<std::string> lines;
                for (const auto& line : show::markdown(*presented.body, columns))
                    lines.push_back(styled(context_.terminal, line));
                return lines;
            });
        return laid_out(clock, title,
                        base::printable(is_result ? *presented.body : presented.summary, true),
                        style);
    }

private:
    static constexpr std::size_t kTitleColumns = 14;

    std::string laid_out(const std::string& clock, const std::string& title,
                         const std::string& text, Style style) const {
        return laid_out(clock, title, [&](std::size_t columns) {
            std::vector<std::string> lines;
            for (const auto line : base::split_lines(text))
                for (const auto& part : show::wrapped(line, columns))
                    lines.push_back(styled(context_.terminal, style, part));
            return lines;
        });
    }

    // Time and title in columns, the text beside them, in lines that fit.
    std::string laid_out(
        const std::string& clock, const std::string& title,
        const std::function<std::vector<std::string>(std::size_t columns)>& lines_within) const {
        const std::size_t columns = out_columns(context_.terminal);
        const std::string head = fmt::format(
            "{}  {} ", clock, show::padded(show::fitted(title, kTitleColumns), kTitleColumns));
        const std::size_t margin = show::columns_of(head);
        const bool is_narrow = columns < 2 * margin;
        std::string row = is_narrow ? head + "\n" : head;
        const std::string indent(is_narrow ? 2 : margin, ' ');
        bool is_first = !is_narrow;
        for (const auto& line : lines_within(columns - indent.size())) {
            if (!is_first) row += (row.ends_with('\n') ? "" : "\n") + indent;
            row += line;
            is_first = false;
        }
        return row;
    }

    const Context& context_;
    views::DisplayMode mode_;
    bool json_;
};

Exit follow_rows(const std::string& agent, const TailCommand& command, const Context& context) {
    const EventRows rows(command, context);
    const auto newest = context.service.newest_event(agent);
    if (!newest) return report(context.terminal, newest.error());
    const auto history = newest_events(agent, *newest, kLookBack, context);
    if (!history) return report(context.terminal, history.error());
    std::vector<std::string> begin;
    std::int64_t after_seq = *newest;
    for (const auto& event : *history) {
        after_seq = std::max(after_seq, event.event_seq);
        if (auto row = rows.row(event)) begin.push_back(std::move(*row));
    }
    const auto limit = static_cast<std::size_t>(command.limit);
    for (std::size_t i = begin.size() > limit ? begin.size() - limit : 0; i < begin.size(); ++i)
        context.terminal.print_line(begin[i]);
    return follow(agent, after_seq, context, [&](const domain::Event& event) {
        if (const auto row = rows.row(event)) context.terminal.print_line(*row);
    });
}

}  // namespace

Exit on(const TailCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    if (command.follow) return follow_rows(agent, command, context);
    const auto briefs = context.service.briefs(agent, {command.limit, command.before});
    if (!briefs) return report(context.terminal, briefs.error());
    if (command.json || !context.terminal.is_for_people()) {
        context.terminal.print_line(base::pretty_json(json_list(briefs->items)));
        tell_next(context.terminal, briefs->next);
        return Exit::Success;
    }
    for (const auto& brief : briefs->items)
        context.terminal.print_line(
            show::hanging(fmt::format("{:<9} {:<8} ", age_of(brief.created_at, context),
                                      base::enum_name(brief.kind)),
                          base::printable(brief.text, true), out_columns(context.terminal)));
    tell_next(context.terminal, briefs->next);
    if (briefs->items.empty() && context.terminal.err_is_terminal)
        context.terminal.note("Nothing yet. Show what the agent is doing with: holon status");
    return Exit::Success;
}

}  // namespace cli
