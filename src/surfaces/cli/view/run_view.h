// The live view of a run: the model's text, each command with its outcome, time and tokens.
#pragma once

#include <chrono>
#include <string>

#include "base/time.h"
#include "domain/events/tools.h"
#include "service/run_client.h"
#include "surfaces/cli/view/terminal.h"

namespace cli {

// From then on a model that has sent nothing is shown as waited for.
inline constexpr std::int64_t kWaitShownMs = 5000;

// On a terminal a last line shows the current activity, no line is wider than the terminal, and the
// answer is printed as Markdown, block by block as it is written; elsewhere there are plain lines
// only.
class RunView final : public service::RunObserver {
public:
    RunView(const Terminal& terminal, base::Clock& clock);
    ~RunView() override;

    void on_started(const service::RunStarted& started) override;
    void on_event(const domain::Event& event) override;
    void on_delta(const service::Delta& delta) override;
    std::chrono::milliseconds tick_interval() const override;
    void on_tick() override;

    // After the run: prints what of its answer is not on the terminal yet, then a line on `err`
    // that sums the run up, and what else is to be said of it.
    void finish(const service::RunResponse& response);

private:
    bool streams_answer() const { return terminal_.out_is_terminal && terminal_.has_live_line(); }
    void stream(std::string_view text);
    void print_blocks(std::size_t end);
    void end_round();
    void line(const std::string& text);
    void erase_live_line();
    void draw_live_line();
    std::string partial_line() const;
    void note_wait();
    void tool_line(const domain::events::ToolExecuted& done);
    void tool_line(const domain::events::ToolExecutionFailed& failed);

    const Terminal& terminal_;
    base::Clock& clock_;
    base::Time started_at_{};
    std::string activity_{"starting"};
    base::Time activity_since_{};
    std::int64_t next_note_ms_{kWaitShownMs};
    std::string streamed_;       // Text of the round that is being written.
    std::size_t printed_{0};     // How much of it is on the terminal: whole blocks.
    std::string last_streamed_;  // Of the round before, if it is on the terminal.
    std::string output_;         // The newest line of the running command.
    std::int64_t rounds_{0};
    std::int64_t tasks_{0};  // Seen to begin and not to end.
    std::int64_t tokens_{0};
    std::size_t frame_{0};
    bool live_line_shown_{false};
    bool failure_shown_{false};  // Why the turn failed is on the terminal already.
};

// What a run's answer leaves open, one thing a line: why it failed or waits, and its tasks.
std::string run_notes(const service::RunResponse& response);

// One JSON object a line, for --output-format stream-json: {"type": "started" | "event" | "delta" |
// "result" | "error", ...}.
class StreamView final : public service::RunObserver {
public:
    explicit StreamView(const Terminal& terminal) : terminal_(terminal) {}
    void on_started(const service::RunStarted& started) override;
    void on_event(const domain::Event& event) override;
    void on_delta(const service::Delta& delta) override;
    void finish(const service::RunResponse& response);
    void fail(const base::Error& error);

private:
    void print(std::string_view type, json::value value);

    const Terminal& terminal_;
};

// Silence, for --json.
class QuietView final : public service::RunObserver {
public:
    bool is_live() const override { return false; }
};

}  // namespace cli
