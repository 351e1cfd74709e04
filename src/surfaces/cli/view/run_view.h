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

// On a terminal a last line shows the current activity; elsewhere there are plain lines only.
class RunView final : public service::RunObserver {
public:
    RunView(const Terminal& terminal, base::Clock& clock);
    ~RunView() override;

    void on_started(const std::string& agent_id, const std::string& model_ref) override;
    void on_event(const domain::Event& event) override;
    void on_delta(const service::Delta& delta) override;
    std::chrono::milliseconds tick_interval() const override;
    void on_tick() override;

    // After the run: one line that sums it up.
    void finish(const service::RunResponse& response);

private:
    void line(const std::string& text);
    void erase_live_line();
    void draw_live_line();
    void note_wait();
    void tool_line(const domain::events::ToolExecuted& done);
    void tool_line(const domain::events::ToolExecutionFailed& failed);

    const Terminal& terminal_;
    base::Clock& clock_;
    base::Time started_at_{};
    std::string activity_{"starting"};
    base::Time activity_since_{};
    std::int64_t next_note_ms_{kWaitShownMs};
    std::string streamed_;  // Text of the round that is being written.
    std::string output_;    // The newest line of the running command.
    std::int64_t rounds_{0};
    std::int64_t tasks_{0};  // Seen to begin and not to end.
    std::int64_t tokens_{0};
    std::size_t frame_{0};
    bool live_line_shown_{false};
};

// Silence, for --json.
class QuietView final : public service::RunObserver {
public:
    bool is_live() const override { return false; }
};

}  // namespace cli
