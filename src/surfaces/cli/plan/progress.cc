#include "surfaces/cli/plan/progress.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/times.h"

namespace cli {
namespace {

constexpr std::chrono::milliseconds kTick{120};
constexpr std::array<std::string_view, 8> kSpinner{"⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"};
constexpr std::size_t kBarColumns = 20;
constexpr std::size_t kIdColumnsMax = 24;
constexpr std::size_t kRowsMin = 4;
constexpr std::size_t kChangesShown = 20;
constexpr std::size_t kChangesKept = 100'000;

std::string shown(std::string_view text) {
    return base::printable(base::to_utf8(text));
}

std::string bar(std::int64_t done, std::int64_t total) {
    const auto full = total > 0 ? static_cast<std::size_t>(done * std::int64_t{kBarColumns} / total)
                                : std::size_t{0};
    std::string out;
    for (std::size_t i = 0; i < kBarColumns; ++i) out += i < full ? "█" : "░";
    return out;
}

FrameLine step_line(const StepView& step, std::size_t id_columns, base::Time now,
                    std::size_t tick) {
    const bool bad = step.failed > 0;
    const bool skipped = step.skipped > 0 && step.ok + step.failed == 0;
    const std::string_view mark = step.running > 0            ? kSpinner[tick % kSpinner.size()]
                                  : step.is_done() && bad     ? "✗"
                                  : step.is_done() && skipped ? "–"
                                  : step.is_done()            ? "✓"
                                                              : "·";
    std::string text = fmt::format(
        "{} {}  ", mark, show::padded(show::fitted(shown(step.id), id_columns), id_columns));
    if (step.is_loop && step.total > 0)
        text += fmt::format("{} {}/{}", bar(step.ended(), step.total), step.ended(), step.total);
    else
        text += shown(step.doing.empty() ? step.tool : step.doing);
    if (step.is_loop && bad) text += fmt::format("  {} failed", step.failed);
    if (step.retries > 0)
        text += fmt::format("  {} {}", step.retries, step.retries == 1 ? "retry" : "retries");
    if (step.since) {
        const auto end = step.is_done() ? step.until.value_or(now) : now;
        text += "  " + show::duration_text(
                           std::max<std::int64_t>(0, base::millis_between(*step.since, end)));
    }
    if (!step.error.empty()) text += "  — " + shown(step.error);
    const Style style = bad                ? Style::Red
                        : step.running > 0 ? Style::Bold
                        : step.is_done()   ? Style::Plain
                                           : Style::Dim;
    return {style, std::move(text)};
}

FrameLine total_line(const Progress& progress, base::Time now) {
    std::int64_t done = 0;
    std::int64_t failed = 0;
    for (const auto& step : progress.steps()) {
        done += step.is_done() ? 1 : 0;
        failed += step.failed > 0 ? 1 : 0;
    }
    std::string text = fmt::format("{}/{} steps", done, progress.steps().size());
    if (failed > 0) text += fmt::format(" · {} failed", failed);
    if (progress.started_at())
        text += " · " + show::duration_text(std::max<std::int64_t>(
                            0, base::millis_between(*progress.started_at(), now)));
    return {Style::Dim, std::move(text)};
}

// The rows to show when not all fit: everything from a little before the first that is not done.
std::size_t first_shown(const std::vector<StepView>& steps, std::size_t room) {
    const auto open = std::ranges::find_if(steps, [](const StepView& s) { return !s.is_done(); });
    const auto at = static_cast<std::size_t>(open - steps.begin());
    const std::size_t last_start = steps.size() - room;
    return std::min(at > 1 ? at - 1 : 0, last_start);
}

}  // namespace

Progress::Progress(const json::value& plan) {
    const auto* steps = base::find(plan, "steps");
    if (!steps || !steps->is_array()) return;
    for (const auto& step : steps->get_array()) {
        const bool is_loop = base::find(step, "foreach") != nullptr;
        by_id_[base::string_at(step, "id")] = steps_.size();
        steps_.push_back({.id = base::string_at(step, "id"),
                          .tool = base::string_at(step, "tool"),
                          .is_loop = is_loop,
                          .total = is_loop ? 0 : 1});
    }
}

StepView* Progress::find(const json::value& record) {
    const auto found = by_id_.find(base::string_at(record, "stepId"));
    return found == by_id_.end() ? nullptr : &steps_[found->second];
}

void Progress::note(const domain::PlanRecord& record) {
    const auto value = base::parse_json(record.line).value_or(nullptr);
    if (record.kind == domain::PlanRecordKind::Event) note_event(value);
    if (record.kind == domain::PlanRecordKind::Result) note_result(value);
}

void Progress::note_event(const json::value& event) {
    const std::string type = base::string_at(event, "type");
    const auto at = base::parse_time(base::string_at(event, "timestamp"));
    if (type == "run.started") {
        // Another pass runs the remaining steps: those that did not succeed are open again.
        started_at_ = at ? std::optional(*at) : std::nullopt;
        for (auto& step : steps_) {
            step.failed = step.skipped = step.running = 0;
            step.error.clear();
        }
        return;
    }
    StepView* step = find(event);
    if (!step) return;
    const auto* payload = base::find(event, "payload");
    if (type == "step.started") {
        ++step->running;
        step->doing =
            base::string_at(event, "message")
                .substr(std::min(base::string_at(event, "message").size(), step->id.size() + 2));
        if (payload) step->total = std::max(step->total, base::int_at(*payload, "total"));
        if (!step->since && at) step->since = *at;
    } else if (type == "step.finished" && base::string_at(event, "callId").empty()) {
        step->total = step->ok = 1;  // A loop over nothing.
        step->is_loop = false;
        step->doing = "nothing to go over";
    } else if (type == "step.scheduled" && payload && base::int_at(*payload, "attempt") > 1) {
        ++step->retries;
        --step->failed;
        step->error.clear();
    }
    if (at) step->until = *at;
}

void Progress::note_result(const json::value& result) {
    note_changes(result);
    StepView* step = find(result);
    if (!step) return;
    step->running = std::max<std::int64_t>(0, step->running - 1);
    const std::string status = base::string_at(result, "status");
    if (step->total == 0) {  // A loop that failed before its items were known.
        step->total = 1;
        step->is_loop = false;
    }
    if (status == "ok")
        ++step->ok;
    else if (status == "skipped")
        ++step->skipped;
    else
        ++step->failed;
    if (status != "ok") step->error = base::string_at(result, "userMessage");
}

void Progress::note_changes(const json::value& result) {
    const auto* effects = base::find(result, "effects");
    if (!effects) return;
    // A command that ran in parallel with other calls reports their changes, too: each counts once.
    const auto note = [&](std::string line) {
        if (changes_.size() < kChangesKept && noted_.insert(line).second)
            changes_.push_back(std::move(line));
    };
    const std::pair<std::string_view, std::string_view> kinds[] = {
        {"created", "+"}, {"modified", "~"}, {"deleted", "-"}};
    for (const auto& [name, sign] : kinds)
        if (const auto* list = base::find(*effects, name); list && list->is_array())
            for (const auto& one : list->get_array())
                note(fmt::format("{} {}", sign, shown(base::string_at(one, "path"))));
    if (const auto* list = base::find(*effects, "renamed"); list && list->is_array())
        for (const auto& one : list->get_array())
            note(fmt::format("> {} -> {}", shown(base::string_at(one, "from")),
                             shown(base::string_at(one, "to"))));
}

std::vector<FrameLine> frame(const Progress& progress, const FrameSize& size, base::Time now,
                             std::size_t tick) {
    const auto& steps = progress.steps();
    const std::size_t room =
        std::max(size.rows, kRowsMin) - 2;  // The total, and the cursor's line.
    std::size_t id_columns = 1;
    for (const auto& step : steps)
        id_columns = std::clamp(show::columns_of(shown(step.id)), id_columns, kIdColumnsMax);
    std::size_t first = 0;
    std::size_t count = steps.size();
    std::vector<FrameLine> lines;
    if (steps.size() > room) {
        count = room - 2;
        first = first_shown(steps, count);
        lines.push_back({Style::Dim, fmt::format("… {} above", first)});
    }
    for (std::size_t i = first; i < first + count; ++i)
        lines.push_back(step_line(steps[i], id_columns, now, tick));
    if (steps.size() > room)
        lines.push_back({Style::Dim, fmt::format("… {} below", steps.size() - first - count)});
    lines.push_back(total_line(progress, now));
    // One column is left free: some terminals wrap a line that is exactly full.
    for (auto& line : lines)
        line.text = show::fitted(line.text, std::max<std::size_t>(size.columns, 2) - 1);
    return lines;
}

std::vector<std::string> changes_text(const Progress& progress) {
    const auto& changes = progress.changes();
    std::vector<std::string> lines(
        changes.begin(),
        changes.begin() + std::min(std::ssize(changes), std::ptrdiff_t{kChangesShown}));
    if (changes.size() > kChangesShown)
        lines.push_back(fmt::format("… and {} more", changes.size() - kChangesShown));
    return lines;
}

PlanProgress::PlanProgress(const Terminal& terminal, base::Clock& clock, const json::value& plan)
    : terminal_(terminal),
      clock_(clock),
      progress_(plan),
      ticker_([this](const std::stop_token& stop) { tick(stop); }) {}

PlanProgress::~PlanProgress() = default;

void PlanProgress::tick(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, kTick, [&] { return stop.stop_requested(); })) {
        ++tick_;
        draw();
    }
}

void PlanProgress::on_record(const domain::PlanRecord& record) {
    const std::lock_guard lock(mutex_);
    progress_.note(record);
}

void PlanProgress::finish() {
    ticker_.request_stop();
    if (ticker_.joinable()) ticker_.join();
    draw();
    for (const auto& line : changes_text(progress_)) terminal_.note(line);
    drawn_.clear();
}

void PlanProgress::draw() {
    const FrameSize size = size_of(terminal_);
    // A window that became narrower has broken our lines into more.
    std::size_t up = 0;
    for (const std::size_t columns : drawn_)
        up += std::max<std::size_t>(1, (columns + size.columns - 1) / size.columns);
    std::string out = up > 0 ? fmt::format("\x1b[{}A\r\x1b[J", up) : "";
    drawn_.clear();
    for (const auto& line : frame(progress_, size, clock_.now(), tick_)) {
        out += styled(terminal_, line.style, line.text) + "\n";
        drawn_.push_back(show::columns_of(line.text));
    }
    std::fputs(out.c_str(), terminal_.err);
    std::fflush(terminal_.err);
}

}  // namespace cli
