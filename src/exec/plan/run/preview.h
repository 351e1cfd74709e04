// What a run would do, found out without doing it: the same machine, with reading tools called for
// real and all others asked for their preview. All of them see the vault as the calls before them
// would have left it (`ExecutionContext::pretence`), so the loops are expanded and the paths are
// those of the run, as far as they do not depend on what a command brings back.
#pragma once

#include <set>

#include "exec/plan/run/journal.h"

namespace plan {

class PreviewPerformer final : public Performer {
public:
    PreviewPerformer(tools::Dispatcher& dispatcher, tools::ExecutionContext place,
                     domain::ProfilePreset profile)
        : dispatcher_(dispatcher), place_(std::move(place)), profile_(profile) {}
    std::shared_ptr<tools::Running> start(const CallPtr& call,
                                          std::move_only_function<void(CallEnded)> done) override;

    // By call id: what the tool said that it would do.
    std::map<std::string, json::object> described;
    // Calls whose result only the run can know.
    std::set<std::string> without_data;

private:
    tools::Dispatcher& dispatcher_;
    tools::ExecutionContext place_;
    domain::ProfilePreset profile_;
};

// The plan with every step allowed to fail: what is not known yet must not hide the rest.
CheckedPlan without_stops(const CheckedPlan& plan);

// {riskLevel, steps: [{stepId, tool, riskLevel, preview, index?, changes?, unknown?, fails?,
// skipped?, notReached?}], creates, modifies, renames, deletes, commands}. `fails` is {code,
// message} of a call that will fail; what comes after one that stops the run is not reached.
// `unknown` says why a step is not known before the run.
json::object preview_json(const CheckedPlan& plan, const std::vector<domain::PlanRecord>& records,
                          const PreviewPerformer& performer);

}  // namespace plan
