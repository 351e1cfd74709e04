#include "surfaces/cli/plan/view.h"

#include "base/text.h"
#include "surfaces/show/times.h"

namespace cli {
namespace {

// Items of one loop that are shown separately; of further ones, every hundredth and each failure.
constexpr std::int64_t kItemsShown = 20;
constexpr std::int64_t kItemsStride = 100;
constexpr std::size_t kDiffLinesMax = 40;
constexpr std::size_t kChangesShown = 20;  // Of one step, or of all items of a loop.

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

// The lists of changes of a step or of a loop's items together, each with its bound.
class Changes {
public:
    explicit Changes(const Terminal& terminal) : terminal_(terminal) {}

    void add(const json::value& changes) {
        for (const auto& one : list_at(changes, "creates")) line(Style::Green, "+", path_of(one));
        for (const auto& one : list_at(changes, "modifies"))
            if (line(Style::Yellow, "~", path_of(one)))
                text_ += diff_text(terminal_, base::string_at(one, "diff"));
        for (const auto& one : list_at(changes, "renames"))
            line(Style::Yellow, ">",
                 fmt::format("{} -> {}", shown(base::string_at(one, "from")),
                             shown(base::string_at(one, "to"))));
        for (const auto& one : list_at(changes, "deletes")) line(Style::Red, "-", path_of(one));
        for (const auto& one : list_at(changes, "commands"))
            line(Style::Red, "$", text_of(one, "command"));
    }
    void unknown(std::string_view why) {
        line(Style::Dim, "?", "known only at run time: " + shown(why));
    }
    void fails(std::string_view why) { line(Style::Red, "✗", "will fail: " + shown(why)); }
    void not_made(std::string_view why) { line(Style::Dim, "–", "will not run: " + shown(why)); }
    std::string text() const {
        return count_ > kChangesShown
                   ? text_ + fmt::format("      … and {} more\n", count_ - kChangesShown)
                   : text_;
    }

private:
    static std::string path_of(const json::value& one) { return text_of(one, "path"); }
    bool line(Style style, std::string_view sign, const std::string& text) {
        if (++count_ > kChangesShown) return false;
        text_ += "      " + styled(terminal_, style, fmt::format("{} {}", sign, text)) + "\n";
        return true;
    }

    const Terminal& terminal_;
    std::string text_;
    std::size_t count_{0};
};

// What a call is for; a generated preview begins with its tool, which is shown already.
std::string about_call(const json::value& step) {
    const std::string preview = base::string_at(step, "preview");
    const std::string tool = base::string_at(step, "tool");
    if (!preview.starts_with(tool)) return shown(preview);
    return shown(base::trim(std::string_view(preview).substr(tool.size())));
}

// The items of a loop, or one step, as one entry.
std::string entry_text(const Terminal& terminal, std::span<const json::value> items) {
    const auto& step = items.front();
    const bool is_loop = base::find(step, "index") != nullptr;
    std::string out =
        fmt::format("  {}  {}  {}\n", shown(base::string_at(step, "stepId")),
                    styled(terminal, risk_style(base::string_at(step, "riskLevel")),
                           shown(base::string_at(step, "tool"))),
                    is_loop ? "for " + base::counted(std::ssize(items), "item") : about_call(step));
    Changes changes(terminal);
    for (const auto& item : items) {
        if (const auto* found = base::find(item, "changes")) changes.add(*found);
        if (const std::string why = base::string_at(item, "unknown"); !why.empty())
            changes.unknown(why);
        if (const auto* failure = base::find(item, "fails"))
            changes.fails(base::string_at(*failure, "message"));
        for (const char* name : {"skipped", "notReached"})
            if (const std::string why = base::string_at(item, name); !why.empty())
                changes.not_made(why);
    }
    return out + changes.text();
}

std::string totals_text(const json::value& preview) {
    const std::tuple<std::string_view, std::string_view, std::string_view> kinds[] = {
        {"creates", "creates", ""},
        {"modifies", "changes", ""},
        {"renames", "renames", ""},
        {"deletes", "deletes", ""},
        {"commands", "runs", "command"}};
    std::string text;
    for (const auto& [list, verb, noun] : kinds)
        if (const std::size_t count = list_at(preview, list).size(); count > 0)
            text +=
                fmt::format("{}{} {}", text.empty() ? "" : ", ", verb,
                            noun.empty() ? std::to_string(count)
                                         : base::counted(static_cast<std::int64_t>(count), noun));
    return text.empty() ? "It changes nothing." : "It " + text + ".";
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
    const auto& steps = list_at(value, "steps");
    for (std::size_t at = 0; at < steps.size();) {
        std::size_t end = at + 1;
        const std::string id = base::string_at(steps[at], "stepId");
        while (end < steps.size() && base::string_at(steps[end], "stepId") == id) ++end;
        out += entry_text(terminal, std::span(steps.data() + at, end - at));
        at = end;
    }
    return out + "\n" + totals_text(value);
}

std::string run_summary(const domain::PlanRun& run) {
    const auto& counts = run.counts;
    std::string text = fmt::format("Run {} {}: {} of {} steps", run.run_id,
                                   base::enum_name(run.status), counts.succeeded, counts.steps);
    if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
    if (counts.skipped > 0) text += fmt::format(", {} skipped", counts.skipped);
    text += ", " + base::counted(counts.calls, "call");
    if (run.started_at && run.ended_at)
        text += ", " + show::duration_text(base::millis_between(*run.started_at, *run.ended_at));
    if (run.failure)
        text += fmt::format("\n{}{}: {}",
                            run.failure->step_id.empty() ? "" : run.failure->step_id + ": ",
                            run.failure->code, shown(run.failure->message));
    if (counts.unknown_outcomes > 0)
        text += fmt::format("\n{} calls have an unknown outcome; see holon plan verify {}",
                            counts.unknown_outcomes, run.run_id);
    using enum domain::PlanRunStatus;
    if (run.status == Failed || run.status == Partial || run.status == Running)
        text += fmt::format("\nResume the remaining steps with: holon plan resume {}", run.run_id);
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
    std::string line = shown(call.preview);
    if (!ok) line += " — " + shown(base::string_at(result, "userMessage"));
    const std::string time =
        styled(terminal_, Style::Dim, show::duration_text(base::int_at(result, "durationMs")));
    const std::int64_t attempt = base::int_at(result, "attempt", 1);
    if (attempt > 1) line += fmt::format(" (attempt {})", attempt);
    if (!call.index) {
        loop_.clear();
        return terminal_.note(fmt::format("{} {}  {}  {}", mark, step, line, time));
    }
    if (ok && *call.index >= kItemsShown && (*call.index + 1) % kItemsStride != 0) return;
    if (loop_ != step) terminal_.note(fmt::format("  {}", step));
    loop_ = step;
    terminal_.note(fmt::format("  ├ {} [{}]  {}  {}", mark, *call.index, line, time));
}

void PlanLines::on_record(const domain::PlanRecord& record) {
    if (record.kind == domain::PlanRecordKind::Event) terminal_.print_line(record.line);
}

}  // namespace cli
