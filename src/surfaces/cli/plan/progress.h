// The progress of a plan run on a terminal: its steps with bars, redrawn in place.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/time.h"
#include "service/plans.h"
#include "surfaces/cli/view/terminal.h"
#include "surfaces/show/columns.h"

namespace cli {

struct StepView {
    std::string id;
    std::string tool;
    bool is_loop{false};
    std::int64_t total{0};  // Items of a loop, once they are known; else 1.
    std::int64_t running{0};
    std::int64_t ok{0};
    std::int64_t failed{0};  // Finally failed: calls that are tried again do not count.
    std::int64_t skipped{0};
    std::int64_t retries{0};
    std::string doing;  // The call that started last.
    std::string error;  // Of the failure that came last.
    std::optional<base::Time> since{};
    std::optional<base::Time> until{};  // When the last call ended.
    friend bool operator==(const StepView&, const StepView&) = default;

    std::int64_t ended() const { return ok + failed + skipped; }
    bool is_done() const { return running == 0 && total > 0 && ended() >= total; }
};

// The progress that the records of a run show.
class Progress {
public:
    // `plan` is the plan's document; without steps, only the changes are noted.
    explicit Progress(const json::value& plan);
    void note(const domain::PlanRecord& record);

    const std::vector<StepView>& steps() const { return steps_; }
    std::optional<base::Time> started_at() const { return started_at_; }
    // What was created, changed, renamed, deleted, one line each, in order.
    const std::vector<std::string>& changes() const { return changes_; }

private:
    void note_event(const json::value& event);
    void note_result(const json::value& result);
    void note_changes(const json::value& result);
    StepView* find(const json::value& record);

    std::vector<StepView> steps_;
    std::map<std::string, std::size_t> by_id_;
    std::optional<base::Time> started_at_{};
    std::vector<std::string> changes_;
    std::set<std::string> noted_;
};

struct FrameLine {
    Style style{Style::Plain};
    std::string text;  // Fits the width; nothing in it moves the cursor.
    friend bool operator==(const FrameLine&, const FrameLine&) = default;
};

// What the screen shows at `now`: never more lines than fit, running steps first.
std::vector<FrameLine> frame(const Progress& progress, const FrameSize& size, base::Time now,
                             std::size_t tick);

// What a run changed, a bounded number of lines.
std::vector<std::string> changes_text(const Progress& progress);

// Draws frames over each other as records come in and time goes by. Only for a terminal.
class PlanProgress final : public service::PlanObserver {
public:
    PlanProgress(const Terminal& terminal, base::Clock& clock, const json::value& plan);
    ~PlanProgress() override;
    void on_record(const domain::PlanRecord& record) override;
    // Leaves the last frame on the screen, with the changes below it.
    void finish();

private:
    void tick(const std::stop_token& stop);
    void draw();

    const Terminal& terminal_;
    base::Clock& clock_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    Progress progress_;
    std::size_t tick_{0};
    std::vector<std::size_t> drawn_;  // Columns of each line on the screen.
    std::jthread ticker_;             // Last: it uses all of the above.
};

}  // namespace cli
