#include "surfaces/cli/view/run_view.h"

#include <array>

#include "base/text.h"
#include "domain/events/scheduler.h"
#include "domain/events/tasks.h"
#include "domain/events/turn.h"
#include "service/views/presentation.h"
#include "surfaces/cli/cli.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/markdown/markdown.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"

namespace cli {

using namespace domain::events;

namespace {

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

// For a pipe it is the text as it was written.
void print_answer(const Terminal& terminal, const std::string& text) {
    if (!terminal.out_is_terminal) return terminal.print_line(base::printable(text, true));
    for (const auto& line : show::markdown(text, out_columns(terminal)))
        terminal.print_line(styled(terminal, line));
}

}  // namespace

RunView::RunView(const Terminal& terminal, base::Clock& clock)
    : terminal_(terminal), clock_(clock) {}
RunView::~RunView() {
    erase_live_line();
}

std::chrono::milliseconds RunView::tick_interval() const {
    return terminal_.has_live_line() ? kTick : kPlainTick;
}

void RunView::on_tick() {
    if (!terminal_.has_live_line()) return note_wait();
    ++frame_;
    draw_live_line();
}

// In plain lines a wait is shown after five seconds, and then each time it has doubled.
void RunView::note_wait() {
    const std::int64_t elapsed = base::millis_between(activity_since_, clock_.now());
    if (activity_ != kThinking || elapsed < next_note_ms_) return;
    while (next_note_ms_ <= elapsed) next_note_ms_ *= 2;
    line(styled(terminal_, Style::Dim,
                fmt::format("  waiting for the model for {}", show::duration_text(elapsed))));
}

void RunView::on_started(const service::RunStarted& started) {
    started_at_ = activity_since_ = clock_.now();
    std::string text =
        fmt::format("agent {} · model {}", started.agent_id, base::printable(started.model_ref));
    if (started.cwd) text += " · in " + base::printable(*started.cwd);
    const std::size_t columns = err_columns(terminal_);
    line(styled(terminal_, Style::Dim, show::folded(text, columns)));
    if (started.is_elsewhere)
        line(styled(
            terminal_, Style::Yellow,
            show::folded(
                fmt::format("agent {} works in {}, not in this folder; move it here with "
                            "--workspace-root .",
                            started.agent_id, base::printable(started.cwd.value_or("its own"))),
                columns)));
}

void RunView::on_delta(const service::Delta& delta) {
    switch (delta.kind) {
        case service::DeltaKind::Text:
            activity_ = "writing";
            stream(delta.text);
            break;
        case service::DeltaKind::Output:
            output_ = delta.text;
            break;
        case service::DeltaKind::Retry:
            if (printed_ > 0) line(styled(terminal_, Style::Yellow, "  the answer begins again:"));
            streamed_.clear();
            printed_ = 0;
            activity_ = kThinking;
            line(styled(terminal_, Style::Yellow, "  " + show::retry_text(delta)));
            break;
        case service::DeltaKind::Question:
            if (delta.text.empty()) break;
            line(styled(terminal_, Style::Yellow,
                        fmt::format("  the MCP server {} asks you something: holon mcp questions",
                                    base::printable(delta.text))));
            break;
    }
}

// Whole blocks are printed as they come; the end of the next one is in the live line.
void RunView::stream(std::string_view text) {
    streamed_ += text;
    // A block ends with a line, so that most deltas need no further look.
    if (!streams_answer() || text.find('\n') == text.npos) return;
    print_blocks(printed_ + show::finished_blocks(std::string_view(streamed_).substr(printed_)));
}

void RunView::print_blocks(std::size_t end) {
    const auto lines = show::markdown(std::string_view(streamed_).substr(printed_, end - printed_),
                                      out_columns(terminal_));
    if (lines.empty()) return;
    erase_live_line();
    if (printed_ > 0) terminal_.print_line("");
    for (const auto& line : lines) terminal_.print_line(styled(terminal_, line));
    printed_ = end;
}

void RunView::end_round() {
    last_streamed_.clear();
    if (streams_answer() && !base::trim(streamed_).empty()) {
        print_blocks(streamed_.size());
        last_streamed_ = streamed_;
    }
    streamed_.clear();
    printed_ = 0;
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
        end_round();
        if (round->has_tool_calls && round->has_text && last_streamed_.empty())
            line("● " + indented(base::printable(round->text_preview, true)));
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
        const std::string until = show::local_time(parked->until);
        line(styled(terminal_, Style::Yellow,
                    fmt::format("  the provider does not answer; asks it again at {}: {}", until,
                                base::printable(base::ellipsize(show::failure_text(parked->reason),
                                                                kReasonChars)))));
        begin("waiting for the provider until " + until);
    } else if (const auto delayed = read<ModelAnswerDelayed>(event)) {
        line(styled(terminal_, Style::Yellow,
                    fmt::format("  {} has not answered for {}; the turn keeps waiting",
                                base::printable(delayed->model_ref),
                                show::duration_text(delayed->waited_ms))));
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
        failure_shown_ = true;
        line(styled(terminal_, Style::Red,
                    "✗ " + base::printable(show::failure_text(error->error))));
    }
}

void RunView::tool_line(const ToolExecutionFailed& failed) {
    line(styled(terminal_, Style::Red,
                fmt::format("  ✗ {}: {}", base::printable(failed.tool_name),
                            base::printable(base::string_at(failed.tool_error, "message")))));
}

void RunView::tool_line(const ToolExecuted& done) {
    const std::string took = styled(terminal_, Style::Dim, show::duration_text(done.duration_ms));
    const std::string cmd = base::printable(done.exec_command_cmd.value_or(""));
    if (cmd.empty()) return line(fmt::format("  ✓ {} {}", base::printable(done.summary), took));
    const std::string outcome = "→ " + views::outcome_of(done);
    const bool good =
        done.exit_status && done.exit_status->is_int64() && done.exit_status->get_int64() == 0;
    // The end of the line says how it went, so the command is what is cut.
    const std::size_t taken = show::columns_of(outcome) +
                              show::columns_of(show::duration_text(done.duration_ms)) +
                              show::columns_of("  $   ");
    const std::size_t columns =
        terminal_.has_live_line() ? size_of(terminal_).columns - 1 : show::kUnbounded;
    line(fmt::format("  $ {} {} {}", show::fitted(cmd, columns > taken ? columns - taken : 1),
                     styled(terminal_, good ? Style::Green : Style::Yellow, outcome), took));
}

void RunView::finish(const service::RunResponse& response) {
    erase_live_line();
    const bool is_shown =
        !last_streamed_.empty() && base::trim(last_streamed_) == base::trim(response.final_text);
    if (!is_shown && !response.final_text.empty()) print_answer(terminal_, response.final_text);
    const std::int64_t took = base::millis_between(started_at_, clock_.now());
    const bool good = response.final_status == service::FinalStatus::Completed;
    const auto& usage = response.token_usage;
    std::string text = fmt::format(
        "{} in {} · {} · {} · {} tokens", base::enum_name(response.final_status),
        show::duration_text(took), base::counted(response.model_rounds, "round"),
        base::counted(response.tool_calls, "tool call"), show::count_text(usage.total_tokens));
    if (usage.total_tokens > 0)
        text += fmt::format(" ({} in, {} out)", show::count_text(usage.input_tokens),
                            show::count_text(usage.output_tokens));
    if (const auto& cache = response.provider_cache_usage; cache && cache->read_input_tokens > 0)
        text += fmt::format(" · {} from cache", show::count_text(cache->read_input_tokens));
    if (!response.changed_files.empty())
        text += " · " +
                base::counted(static_cast<std::int64_t>(response.changed_files.size()), "file") +
                " changed";
    line(styled(terminal_, good ? Style::Green : Style::Yellow,
                show::folded(text, err_columns(terminal_))));
    service::RunResponse rest = response;
    if (failure_shown_) rest.failure_artifact.reset();
    if (const std::string notes = run_notes(rest); !notes.empty()) line(notes);
}

std::string run_notes(const service::RunResponse& response) {
    std::vector<std::string> lines;
    if (response.failure_artifact)
        lines.push_back("failed: " + show::failure_text(response.failure_artifact->summary));
    if (response.waiting_reason) lines.push_back(show::waiting_text(*response.waiting_reason));
    if (response.sleep_reason) lines.push_back("it sleeps: " + *response.sleep_reason);
    for (const auto& entry : response.tasks)
        if (const auto* task = base::find(entry, "task"))
            lines.push_back(
                fmt::format("task {}: {}", base::string_at(*task, "status"),
                            base::string_at(*task, "summary", base::string_at(*task, "kind"))));
    return base::printable(fmt::format("{}", fmt::join(lines, "\n")), true);
}

void StreamView::print(std::string_view type, json::value value) {
    json::object line{{"type", type}};
    for (auto& [name, member] : value.as_object()) line[name] = std::move(member);
    terminal_.print_line(base::json_text(line));
}

void StreamView::on_started(const service::RunStarted& started) {
    print("started", base::to_json(started));
}

void StreamView::on_event(const domain::Event& event) {
    print("event", json::object{{"event", base::to_json(event)}});
}

void StreamView::on_delta(const service::Delta& delta) {
    print("delta", json::object{{"delta", base::to_json(delta)}});
}

void StreamView::finish(const service::RunResponse& response) {
    print("result", base::to_json(response));
}

void StreamView::fail(const base::Error& error) {
    print("error", error_document(error));
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

// The end of the line that is being written: that is where something happens.
std::string RunView::partial_line() const {
    const std::size_t begin = streams_answer() ? printed_ : 0;
    return base::collapse_whitespace(
        base::last_chars(base::to_utf8(streamed_.substr(begin)), size_of(terminal_).columns / 2));
}

void RunView::draw_live_line() {
    erase_live_line();
    const std::int64_t elapsed = base::millis_between(activity_since_, clock_.now());
    std::string what = activity_;
    if (activity_ == kThinking && elapsed >= kWaitShownMs) what = "waiting for the model";
    if (!output_.empty()) what = output_;
    if (!streamed_.empty()) what = partial_line();
    const std::string figures =
        fmt::format(" {} · round {} · {} tokens", show::duration_text(elapsed), rounds_ + 1,
                    show::count_text(tokens_));
    // One column stays free: a full line would wrap, and could not be erased.
    const std::size_t columns = size_of(terminal_).columns - 1;
    const std::size_t taken = show::columns_of(figures) + 2;
    const std::size_t room = columns > taken ? columns - taken : 0;
    const std::string text =
        show::fitted(fmt::format("{} {}{}", kFrames[frame_ % kFrames.size()],
                                 show::fitted(base::printable(base::to_utf8(what)), room), figures),
                     columns);
    std::fputs(styled(terminal_, Style::Dim, text).c_str(), terminal_.err);
    std::fflush(terminal_.err);
    live_line_shown_ = true;
}

}  // namespace cli
