#include "surfaces/tui/overlays/plan_lines.h"

#include <algorithm>

#include "base/text.h"
#include "surfaces/show/diff.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/overlays/transcript_text.h"

namespace tui {
namespace {

using Lines = std::vector<show::Line>;

constexpr std::size_t kMargin = 2;

void add(Lines& lines, Lines more) {
    std::ranges::move(more, std::back_inserter(lines));
}

const json::array& list_at(const json::value& value, std::string_view name) {
    static const json::array kNone;
    const auto* found = base::find(value, name);
    return found && found->is_array() ? found->get_array() : kNone;
}

std::string text_of(const json::value& value, std::string_view name) {
    return value.is_string() ? std::string(std::string_view(value.get_string()))
                             : base::string_at(value, name);
}

Lines change_lines(const json::value& changes, std::size_t columns) {
    Lines lines;
    const auto line = [&](std::string_view sign, const std::string& text, show::Face face) {
        add(lines, text_lines(fmt::format("{} {}", sign, text), columns, face, kMargin));
    };
    for (const auto& one : list_at(changes, "creates"))
        line("+", text_of(one, "path"), show::Face::Good);
    for (const auto& one : list_at(changes, "modifies")) {
        line("~", text_of(one, "path"), show::Face::Warning);
        if (const std::string diff = base::string_at(one, "diff"); !diff.empty())
            add(lines, show::diff_lines(diff, columns));
    }
    for (const auto& one : list_at(changes, "renames"))
        line(">", base::string_at(one, "from") + " -> " + base::string_at(one, "to"),
             show::Face::Warning);
    for (const auto& one : list_at(changes, "deletes"))
        line("-", text_of(one, "path"), show::Face::Bad);
    for (const auto& one : list_at(changes, "commands"))
        line("$", text_of(one, "command"), show::Face::Code);
    return lines;
}

}  // namespace

Lines step_lines(const json::value& step, std::size_t columns) {
    const auto* args = base::find(step, "args");
    const std::string cmd = args ? base::string_at(*args, "cmd") : "";
    if (!cmd.empty()) return text_lines("$ " + cmd, columns, show::Face::Code);
    const std::string patch = args ? base::string_at(*args, "patch") : "";
    auto lines = text_lines(base::string_at(step, "tool"), columns, show::Face::Bold);
    if (!patch.empty())
        add(lines, show::diff_lines(patch, columns));
    else if (args)
        add(lines, text_lines(base::pretty_json(*args), columns, show::Face::Code, kMargin));
    return lines;
}

Lines plan_lines(const json::value& plan, std::size_t columns) {
    Lines lines;
    for (const auto& step : list_at(plan, "steps")) add(lines, step_lines(step, columns));
    return lines;
}

Lines preview_lines(const json::value& preview, std::size_t columns) {
    Lines lines;
    for (const auto& fault : list_at(preview, "faults"))
        add(lines, text_lines(fmt::format("{}: {}", base::string_at(fault, "path"),
                                          base::string_at(fault, "message")),
                              columns, show::Face::Bad));
    if (!lines.empty()) return lines;
    for (const auto& step : list_at(preview, "steps")) {
        add(lines,
            text_lines(fmt::format("{}  {}  {}", base::string_at(step, "stepId"),
                                   base::string_at(step, "tool"), base::string_at(step, "preview")),
                       columns, show::Face::Bold));
        const auto remark = [&](std::string_view label, const std::string& why, show::Face face) {
            if (why.empty()) return;
            add(lines, text_lines(fmt::format("{}: {}", label, why), columns, face, kMargin));
        };
        remark("known only at run time", base::string_at(step, "unknown"), show::Face::Warning);
        if (const auto* failure = base::find(step, "fails"))
            remark("will fail", base::string_at(*failure, "message"), show::Face::Bad);
        remark("will not run", base::string_at(step, "skipped"), show::Face::Dim);
        remark("will not run", base::string_at(step, "notReached"), show::Face::Dim);
        if (const auto* changes = base::find(step, "changes"))
            add(lines, change_lines(*changes, columns));
    }
    if (lines.empty()) add(lines, text_lines("It changes nothing.", columns, show::Face::Dim));
    return lines;
}

Lines run_lines(const domain::PlanRun& run, std::size_t columns) {
    const auto& counts = run.counts;
    std::string text =
        fmt::format("{}: {} of {} steps, {}", base::enum_name(run.status), counts.succeeded,
                    counts.steps, base::counted(counts.calls, "call"));
    if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
    if (run.started_at && run.ended_at)
        text += ", " + show::duration_text(base::millis_between(*run.started_at, *run.ended_at));
    auto lines = text_lines(text, columns, show::Face::Dim);
    if (run.failure)
        add(lines, text_lines(run.failure->step_id + ": " + run.failure->message, columns,
                              show::Face::Bad));
    return lines;
}

}  // namespace tui
