// Plans as people read them: a preview before, a tree of steps while it runs, a table after.
#pragma once

#include "service/plans.h"
#include "surfaces/cli/view/terminal.h"

namespace cli {

// What a plan would do, step by step, with its diffs; `preview` is what service::Plans gives.
std::string preview_text(const Terminal& terminal, const json::object& preview);

std::string faults_text(const std::vector<service::PlanFault>& faults);

// "Run 0190… succeeded: 3 of 3 steps, 5 calls, 0.4s", and what to do next where that helps.
std::string run_summary(const domain::PlanRun& run);

// Each step as it ends, the items of a loop below it.
class PlanView final : public service::PlanObserver {
public:
    explicit PlanView(const Terminal& terminal) : terminal_(terminal) {}
    void on_record(const domain::PlanRecord& record) override;

private:
    void on_result(const json::value& result);

    struct Call {
        std::string preview;
        std::optional<std::int64_t> index;
    };
    const Terminal& terminal_;
    std::map<std::string, Call> calls_;  // Under way, by id.
    std::string loop_;                   // Whose items were shown last.
};

// The events of a run as JSON lines, as they are committed.
class PlanLines final : public service::PlanObserver {
public:
    explicit PlanLines(const Terminal& terminal) : terminal_(terminal) {}
    void on_record(const domain::PlanRecord& record) override;

private:
    const Terminal& terminal_;
};

}  // namespace cli
