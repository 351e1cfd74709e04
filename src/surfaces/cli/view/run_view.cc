#include "surfaces/cli/view/run_view.h"

#include <array>

#include "base/text.h"

namespace cli {
namespace {

constexpr std::size_t kLiveChars = 70;
constexpr std::chrono::milliseconds kTick{120};
constexpr std::array<std::string_view, 8> kFrames{"⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"};

std::string indented(std::string_view text) {
    std::string out;
    for (const auto line : base::split_lines(text))
        out += (out.empty() ? "" : "\n  ") + std::string(line);
    return out;
}

}  // namespace

RunView::RunView(const Terminal& terminal, base::Clock& clock)
    : terminal_(terminal), clock_(clock) {}
RunView::~RunView() {
    erase_live_line();
}

std::chrono::milliseconds RunView::tick_interval() const {
    return terminal_.err_is_terminal ? kTick : std::chrono::milliseconds(0);
}

void RunView::on_tick() {
    ++frame_;
    draw_live_line();
}

void RunView::on_started(const std::string& agent_id, const std::string& model_ref) {
    started_at_ = activity_since_ = clock_.now();
    line(styled(terminal_, Style::Dim,
                fmt::format("agent {} · model {}", agent_id, base::printable(model_ref))));
}

void RunView::on_text(std::string_view delta) {
    streamed_ += delta;
    activity_ = "writing";
}

void RunView::on_event(const domain::Event& event) {
    const auto& data = event.data;
    const auto begin = [&](std::string what) {
        activity_ = std::move(what);
        activity_since_ = clock_.now();
    };
    if (event.kind == "turn_started") {
        begin("thinking");
    } else if (event.kind == "attempt_resumed") {
        line(styled(
            terminal_, Style::Yellow,
            fmt::format("resuming after a restart, at round {}", base::int_at(data, "round"))));
        begin("thinking");
    } else if (event.kind == "provider_round_completed") {
        ++rounds_;
        if (const auto* usage = base::find(data, "token_usage"))
            tokens_ += base::int_at(*usage, "total_tokens");
    } else if (event.kind == "assistant_round_recorded") {
        // The last round's text is the answer; it is printed as the result, not as progress.
        if (base::bool_at(data, "has_tool_calls") && base::bool_at(data, "has_text"))
            line("● " + indented(base::printable(base::string_at(data, "text_preview"), true)));
        streamed_.clear();
        begin("thinking");
    } else if (event.kind == "process_execution_requested") {
        begin("$ " + base::string_at(data, "cmd_preview"));
    } else if (event.kind == "tool_executed" || event.kind == "tool_execution_failed") {
        tool_line(data, event.kind == "tool_execution_failed");
        begin("thinking");
    } else if (event.kind == "turn_parked") {
        const std::string until = base::string_at(data, "until");
        line(styled(terminal_, Style::Yellow,
                    fmt::format("  limited by the provider; resumes by itself at {}",
                                until.substr(0, 19))));
        begin("waiting until " + until.substr(0, 19));
    } else if (event.kind == "task_created") {
        ++tasks_;
        line("  ↻ in the background: " + base::printable(base::string_at(data, "summary")));
    } else if (event.kind == "task_result_received") {
        tasks_ -= tasks_ > 0 ? 1 : 0;
        const bool good = base::string_at(data, "status") == "completed";
        line(fmt::format("  ↻ {} {}", base::printable(base::string_at(data, "summary")),
                         styled(terminal_, good ? Style::Green : Style::Yellow,
                                "→ " + base::printable(base::string_at(data, "status")))));
    } else if (event.kind == "turn_terminal" && tasks_ > 0) {
        begin("waiting for " + base::counted(tasks_, "background task"));
    } else if (event.kind == "runtime_error") {
        line(styled(terminal_, Style::Red, "✗ " + base::printable(base::string_at(data, "error"))));
    }
}

void RunView::tool_line(const json::value& data, bool failed) {
    const std::string took = duration_text(base::int_at(data, "duration_ms"));
    const std::string tool = base::printable(base::string_at(data, "tool_name"));
    if (failed) {
        const auto* error = base::find(data, "tool_error");
        line(styled(terminal_, Style::Red,
                    fmt::format("  ✗ {}: {}", tool,
                                base::printable(error ? base::string_at(*error, "message") : ""))));
        return;
    }
    const std::string cmd = base::printable(base::string_at(data, "exec_command_cmd"));
    if (cmd.empty()) {
        line(fmt::format("  ✓ {} {}", base::printable(base::string_at(data, "summary")),
                         styled(terminal_, Style::Dim, took)));
        return;
    }
    const auto* status = base::find(data, "exit_status");
    const bool known = status && status->is_int64();
    const bool good = known && status->get_int64() == 0;
    const std::string outcome =
        known ? fmt::format("exit {}", status->get_int64()) : base::string_at(data, "status");
    line(fmt::format("  $ {} {} {}", cmd,
                     styled(terminal_, good ? Style::Green : Style::Yellow, "→ " + outcome),
                     styled(terminal_, Style::Dim, took)));
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
    if (!streamed_.empty())
        what = base::collapse_whitespace(base::last_chars(base::to_utf8(streamed_), kLiveChars));
    const std::string text =
        fmt::format("{} {} {} · round {} · {} tokens", kFrames[frame_ % kFrames.size()],
                    base::ellipsize(base::printable(what), kLiveChars), duration_text(elapsed),
                    rounds_ + 1, count_text(tokens_));
    std::fputs(styled(terminal_, Style::Dim, text).c_str(), terminal_.err);
    std::fflush(terminal_.err);
    live_line_shown_ = true;
}

}  // namespace cli
