// A run made again from its files alone: recorded results are served instead of executing, and what
// the machine decides must be what was recorded.
#pragma once

#include "exec/plan/folder.h"
#include "exec/plan/journal.h"

namespace plan {

// Serves the recorded result of the same step, item and attempt. Where there is none, the call fails
// and is named in `divergences`.
class RecordedPerformer final : public Performer {
public:
    RecordedPerformer(const RunFiles& files, const tools::Dispatcher& dispatcher, base::Loop& loop);
    std::shared_ptr<tools::Running> start(
        const CallPtr& call, std::move_only_function<void(domain::ToolResult)> done) override;

    std::vector<std::string> divergences;
    std::int64_t served{0};
    // Calls of the record that the replay never made.
    std::vector<std::string> left_over() const;

private:
    struct Recorded {
        domain::ToolCall call;
        std::optional<domain::ToolResult> result;
    };
    const tools::Dispatcher& dispatcher_;
    base::Loop& loop_;
    std::map<std::string, Recorded> recorded_;  // By step, item and attempt.
};

}  // namespace plan
