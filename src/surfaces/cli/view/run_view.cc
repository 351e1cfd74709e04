#include "surfaces/cli/view/run_view.h"

#include <array>

#include "base/text.h"
#include "domain/events/scheduler.h"
#include "domain/events/tasks.h"
#include "domain/events/turn.h"
#include "surfaces/cli/view/columns.h"

namespace cli {

using namespace domain::events;

namespace {

constexpr std::size_t kStreamedChars = 40;  // Its end is shown, and fits most terminals.
constexpr std::size_t kReasonChars = 200;
constexpr std::chrono::milliseconds kTick{120};
constexpr std::chrono::milliseconds kPlainTick{1000};
constexpr const char* kThinking = "thinking";
constexpr std::array<std::string_view, 8> kFrames{"⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"};

std::string indented(std::string_view text) {
    std::string out;
    for (const auto line : base::split_lines(text))
        out += (out.empty() ? "" : "\n  ") + std::string(line);
    return out;
}

std::string retry_text(const service::Delta& delta) {
    const std::string model = base::printable(delta.model_ref.value_or(""));
    const std::string next = base::printable(delta.next_model_ref.value_or(""));
    const std::string reason = base::printable(base::ellipsize(delta.text, kReasonChars));
    if (next != model) return fmt::format("{} failed, asking {}: {}", model, next, reason);
    return fmt::format("{} failed (try {} of {}), again in {}: {}", model,
                       delta.attempt.value_or(0), delta.max_attempts.value_or(0),
                       duration_text(delta.wait_ms.value_or(0)), reason);
}

}  // namespace

RunView::RunView(const Terminal& terminal, base::Clock& clock)
    : terminal_(terminal), clock_(clock) {}
RunView::~RunView() {
    erase_live_line();
}

std::chrono::milliseconds RunView::tick_interval() const {
    return terminal_.err_is_terminal ? kTick : kPlainTick;
}

void RunView::on_tick() {
    if (!terminal_.err_is_terminal) return note_wait();
    ++frame_;
    draw_live_line();
}

// In plain lines a wait is shown after five seconds, and then each time it has doubled.
void RunView::note_wait() {
    const std::int64_t elapsed = base::millis_between(activity_since_, clock_.now());
    if (activity_ != kThinking || elapsed < next_note_ms_) return;
    while (next_note_ms_ <= elapsed) next_note_ms_ *= 2;
    line(styled(terminal_, Style::Dim,
                fmt::format("  waiting for the model for {}", duration_text(elapsed))));
}

void RunView::on_started(const std::string& agent_id, const std::string& model_ref) {
    started_at_ = activity_since_ = clock_.now();
    line(styled(terminal_, Style::Dim,
                fmt::format("agent {} · model {}", agent_id, base::printable(model_ref))));
}

void RunView::on_delta(const service::Delta& delta) {
    switch (delta.kind) {
        case service::DeltaKind::Text:
            streamed_ += delta.text;
            activity_ = "writing";
            break;
        case service::DeltaKind::Output:
            output_ = delta.text;
            break;
        case service::DeltaKind::Retry:
            streamed_.clear();
            activity_ = kThinking;
            line(styled(terminal_, Style::Yellow, "  " + retry_text(delta)));
            break;
    }
}

void RunView::on_event(const domain::Event& event) {
    const auto begin = [&](std::string what) {
        output_.clear();
        activity_ = std::move(what);
        activity_since_ = clock_.now();
        next_note_ms_ = kWaitShownMs;
    };
    if (is<TurnStarted>(event)) {
        begin(kThinking);
    } else if (const auto resumed = read<AttemptResumed>(event)) {
        line(styled(terminal_, Style::Yellow,
                    fmt::format("resuming after a restart, at round {}", resumed->round)));
        begin(kThinking);
    } else if (const auto completed = read<ProviderRoundCompleted>(event)) {
        ++rounds_;
        tokens_ += completed->token_usage.total_tokens;
    } else if (const auto round = read<AssistantRoundRecorded>(event)) {
        // The last round's text is the answer; it is printed as the result, not as progress.
        if (round->has_tool_calls && round->has_text)
            line("● " + indented(base::printable(round->text_preview, true)));
        streamed_.clear();
        begin(kThinking);
    } else if (const auto command = read<ProcessExecutionRequested>(event)) {
        begin("$ " + command->cmd_preview);
    } else if (const auto done = read<ToolExecuted>(event)) {
        tool_line(*done);
        begin(kThinking);
    } else if (const auto failed = read<ToolExecutionFailed>(event)) {
        tool_line(*failed);
        begin(kThinking);
    } else if (const auto parked = read<TurnParked>(event)) {
        const std::string until = base::to_text(parked->until).substr(0, 19);
        line(styled(terminal_, Style::Yellow,
                    fmt::format("  the provider does not answer; asks it again at {}: {}", until,
                                base::printable(
                                    base::ellipsize(failure_text(parked->reason), kReasonChars)))));
        begin("waiting for the provider until " + until);
    } else if (const auto delayed = read<ModelAnswerDelayed>(event)) {
        line(styled(
            terminal_, Style::Yellow,
            fmt::format("  {} has not answered for {}; the turn keeps waiting",
                        base::printable(delayed->model_ref), duration_text(delayed->waited_ms))));
    } else if (const auto created = read<TaskCreated>(event)) {
        ++tasks_;
        line("  ↻ in the background: " + base::printable(created->summary.value_or("")));
    } else if (const auto ended = read<TaskResultReceived>(event)) {
        tasks_ -= tasks_ > 0 ? 1 : 0;
        const bool good = ended->status == domain::TaskStatus::Completed;
        line(fmt::format("  ↻ {} {}", base::printable(ended->summary.value_or("")),
                         styled(terminal_, good ? Style::Green : Style::Yellow,
                                fmt::format("→ {}", base::enum_name(ended->status)))));
    } else if (is<TurnTerminal>(event) && tasks_ > 0) {
        begin("waiting for " + base::counted(tasks_, "background task"));
    } else if (const auto error = read<RuntimeError>(event)) {
        line(styled(terminal_, Style::Red, "✗ " + base::printable(failure_text(error->error))));
    }
}

void RunView::tool_line(const ToolExecutionFailed& failed) {
    line(styled(terminal_, Style::Red,
                fmt::format("  ✗ {}: {}", base::printable(failed.tool_name),
                            base::printable(base::string_at(failed.tool_error, "message")))));
}

void RunView::tool_line(const ToolExecuted& done) {
    const std::string took = styled(terminal_, Style::Dim, duration_text(done.duration_ms));
    const std::string cmd = base::printable(done.exec_command_cmd.value_or(""));
    if (cmd.empty()) return line(fmt::format("  ✓ {} {}", base::printable(done.summary), took));
    const auto* code = done.exit_status ? done.exit_status->if_int64() : nullptr;
    const std::string outcome =
        code ? fmt::format("exit {}", *code) : std::string(base::enum_name(done.status));
    const bool good = code && *code == 0;
    line(fmt::format("  $ {} {} {}", cmd,
                     styled(terminal_, good ? Style::Green : Style::Yellow, "→ " + outcome), took));
}

void RunView::finish(const service::RunResponse& response) {
    const std::int64_t took = base::millis_between(started_at_, clock_.now());
    const bool good = response.final_status == service::FinalStatus::Completed;
    std::string text =
        fmt::format("{} in {} · {} · {} · {} tokens", base::enum_name(response.final_status),
                    duration_text(took), base::counted(response.model_rounds, "round"),
                    base::counted(response.tool_calls, "tool call"),
                    count_text(response.token_usage.total_tokens));
    if (!response.changed_files.empty())
        text += " · " +
                base::counted(static_cast<std::int64_t>(response.changed_files.size()), "file") +
                " changed";
    line(styled(terminal_, good ? Style::Green : Style::Yellow, text));
}

void RunView::line(const std::string& text) {
    erase_live_line();
    terminal_.note(text);
}

void RunView::erase_live_line() {
    if (!live_line_shown_) return;
    std::fputs("\r\x1b[2K", terminal_.err);
    std::fflush(terminal_.err);
    live_line_shown_ = false;
}

void RunView::draw_live_line() {
    erase_live_line();
    const std::int64_t elapsed = base::millis_between(activity_since_, clock_.now());
    std::string what = activity_;
    if (activity_ == kThinking && elapsed >= kWaitShownMs) what = "waiting for the model";
    if (!output_.empty()) what = output_;
    if (!streamed_.empty())
        what =
            base::collapse_whitespace(base::last_chars(base::to_utf8(streamed_), kStreamedChars));
    const std::string figures = fmt::format(" {} · round {} · {} tokens", duration_text(elapsed),
                                            rounds_ + 1, count_text(tokens_));
    // One column stays free: a full line would wrap, and could not be erased.
    const std::size_t columns = size_of(terminal_).columns - 1;
    const std::size_t taken = columns_of(figures) + 2;
    const std::size_t room = columns > taken ? columns - taken : 0;
    const std::string text =
        fitted(fmt::format("{} {}{}", kFrames[frame_ % kFrames.size()],
                           fitted(base::printable(base::to_utf8(what)), room), figures),
               columns);
    std::fputs(styled(terminal_, Style::Dim, text).c_str(), terminal_.err);
    std::fflush(terminal_.err);
    live_line_shown_ = true;
}

}  // namespace cli
