#include "surfaces/cli/plan_view.h"

#include "base/text.h"

namespace cli {
namespace {

// Items of one loop that are shown each by itself; of the rest, every hundredth and each failure.
constexpr std::int64_t kItemsShown = 20;
constexpr std::int64_t kItemsStride = 100;
constexpr std::size_t kDiffLinesMax = 40;

std::string shown(std::string_view text) {
    return base::printable(base::to_utf8(text));
}

Style risk_style(std::string_view risk) {
    return risk == "read-only" ? Style::Green : risk == "writes" ? Style::Yellow : Style::Red;
}

const json::array& list_at(const json::value& value, std::string_view name) {
    static const json::array kNone;
    const auto* found = base::find(value, name);
    return found && found->is_array() ? found->get_array() : kNone;
}

std::string text_of(const json::value& value, std::string_view name) {
    return shown(value.is_string() ? std::string(std::string_view(value.get_string()))
                                   : base::string_at(value, name));
}

std::string diff_text(const Terminal& terminal, std::string_view diff) {
    std::string out;
    std::size_t count = 0;
    for (const auto line : base::split_lines(diff)) {
        if (++count > kDiffLinesMax) {
            out += "          …\n";
            break;
        }
        const Style style = line.starts_with('+')   ? Style::Green
                            : line.starts_with('-') ? Style::Red
                                                    : Style::Dim;
        out += "          " + styled(terminal, style, shown(line)) + "\n";
    }
    return out;
}

std::string changes_text(const Terminal& terminal, const json::value& changes) {
    std::string out;
    const auto line = [&](Style style, std::string_view sign, const std::string& text) {
        out += "      " + styled(terminal, style, fmt::format("{} {}", sign, text)) + "\n";
    };
    for (const auto& one : list_at(changes, "creates"))
        line(Style::Green, "+", text_of(one, "path"));
    for (const auto& one : list_at(changes, "modifies")) {
        line(Style::Yellow, "~", text_of(one, "path"));
        out += diff_text(terminal, base::string_at(one, "diff"));
    }
    for (const auto& one : list_at(changes, "renames"))
        line(Style::Yellow, ">",
             fmt::format("{} -> {}", shown(base::string_at(one, "from")),
                         shown(base::string_at(one, "to"))));
    for (const auto& one : list_at(changes, "deletes")) line(Style::Red, "-", text_of(one, "path"));
    for (const auto& one : list_at(changes, "commands"))
        line(Style::Red, "$", text_of(one, "command"));
    return out;
}

}  // namespace

std::string faults_text(const std::vector<service::PlanFault>& faults) {
    std::string text;
    for (const auto& fault : faults)
        text +=
            fmt::format("{}{}: {}{}{}", text.empty() ? "" : "\n",
                        fault.path.empty() ? "the plan" : shown(fault.path), shown(fault.message),
                        fault.hint.empty() ? "" : ". ", shown(fault.hint));
    return text;
}

std::string preview_text(const Terminal& terminal, const json::object& preview) {
    const json::value value(preview);
    const std::string risk = base::string_at(value, "riskLevel");
    std::string out = fmt::format(
        "{}\nRisk {}   in {}\n\n",
        styled(terminal, Style::Bold, shown(base::string_at(value, "goal"))),
        styled(terminal, risk_style(risk), risk), shown(base::string_at(value, "vault")));
    for (const auto& step : list_at(value, "steps")) {
        const auto* index = base::find(step, "index");
        out += fmt::format("  {}{}  {}  {}\n", shown(base::string_at(step, "stepId")),
                           index ? fmt::format("[{}]", base::json_text(*index)) : "",
                           styled(terminal, risk_style(base::string_at(step, "riskLevel")),
                                  shown(base::string_at(step, "tool"))),
                           shown(base::string_at(step, "preview")));
        if (const auto* changes = base::find(step, "changes"))
            out += changes_text(terminal, *changes);
        if (const std::string why = base::string_at(step, "unknown"); !why.empty())
            out += fmt::format("      ? known only when the run gets there: {}\n", shown(why));
    }
    out += fmt::format("\nCreates {}, modifies {}, renames {}, deletes {}, runs {} commands.",
                       list_at(value, "creates").size(), list_at(value, "modifies").size(),
                       list_at(value, "renames").size(), list_at(value, "deletes").size(),
                       list_at(value, "commands").size());
    return out;
}

std::string run_summary(const domain::PlanRun& run) {
    const auto& counts = run.counts;
    std::string text = fmt::format("Run {} {}: {} of {} steps", run.run_id,
                                   base::enum_name(run.status), counts.succeeded, counts.steps);
    if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
    if (counts.skipped > 0) text += fmt::format(", {} skipped", counts.skipped);
    text += fmt::format(", {} calls", counts.calls);
    if (run.started_at && run.ended_at)
        text += ", " + duration_text(base::millis_between(*run.started_at, *run.ended_at));
    if (run.failure)
        text += fmt::format("\n{}{}: {}",
                            run.failure->step_id.empty() ? "" : run.failure->step_id + ": ",
                            run.failure->code, shown(run.failure->message));
    if (counts.unknown_outcomes > 0)
        text += fmt::format("\n{} calls are of unknown outcome; see holon plan verify {}",
                            counts.unknown_outcomes, run.run_id);
    using enum domain::PlanRunStatus;
    if (run.status == Failed || run.status == Partial || run.status == Running)
        text += fmt::format("\nGo on with what is left: holon plan resume {}", run.run_id);
    if (run.status == AwaitingApproval)
        text += fmt::format(
            "\nIt waits for approval: holon plan approve {0}, then holon plan resume "
            "{0}",
            run.run_id);
    return text;
}

void PlanView::on_record(const domain::PlanRecord& record) {
    const auto value = base::parse_json(record.line).value_or(nullptr);
    if (record.kind == domain::PlanRecordKind::Result) return on_result(value);
    if (record.kind != domain::PlanRecordKind::Call) return;
    auto& call = calls_[base::string_at(value, "callId")];
    call.preview = base::string_at(value, "preview");
    if (const auto* iteration = base::find(value, "iteration"))
        call.index = base::int_at(*iteration, "index");
}

void PlanView::on_result(const json::value& result) {
    const auto found = calls_.find(base::string_at(result, "callId"));
    if (found == calls_.end()) return;
    const Call call = found->second;
    calls_.erase(found);
    const std::string step = base::string_at(result, "stepId");
    const std::string status = base::string_at(result, "status");
    const bool ok = status == "ok";
    const std::string mark = ok                    ? styled(terminal_, Style::Green, "✓")
                             : status == "skipped" ? styled(terminal_, Style::Dim, "–")
                                                   : styled(terminal_, Style::Red, "✗");
    std::string told = shown(call.preview);
    if (!ok) told += " — " + shown(base::string_at(result, "userMessage"));
    const std::string time =
        styled(terminal_, Style::Dim, duration_text(base::int_at(result, "durationMs")));
    const std::int64_t attempt = base::int_at(result, "attempt", 1);
    if (attempt > 1) told += fmt::format(" (attempt {})", attempt);
    if (!call.index) {
        loop_.clear();
        return terminal_.note(fmt::format("{} {}  {}  {}", mark, step, told, time));
    }
    if (ok && *call.index >= kItemsShown && (*call.index + 1) % kItemsStride != 0) return;
    if (loop_ != step) terminal_.note(fmt::format("  {}", step));
    loop_ = step;
    terminal_.note(fmt::format("  ├ {} [{}]  {}  {}", mark, *call.index, told, time));
}

void PlanLines::on_record(const domain::PlanRecord& record) {
    if (record.kind == domain::PlanRecordKind::Event) terminal_.print_line(record.line);
}

}  // namespace cli
