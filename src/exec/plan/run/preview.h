// What a run would do, found out without doing it: the same machine, with reading tools called for
// real and all others asked for their preview. So the loops are expanded and the paths are those of
// the run, as far as they do not depend on what a change brings back.
#pragma once

#include "exec/plan/run/journal.h"

namespace plan {

class PreviewPerformer final : public Performer {
public:
    PreviewPerformer(tools::Dispatcher& dispatcher, tools::Place place,
                     domain::ProfilePreset profile)
        : dispatcher_(dispatcher), place_(std::move(place)), profile_(profile) {}
    std::shared_ptr<tools::Running> start(const CallPtr& call,
                                          std::move_only_function<void(CallEnded)> done) override;

    // By call id: what the tool said that it would do.
    std::map<std::string, json::object> described;

private:
    tools::Dispatcher& dispatcher_;
    tools::Place place_;
    domain::ProfilePreset profile_;
};

// The plan with every step allowed to fail: what is not known yet must not hide the rest.
CheckedPlan without_stops(const CheckedPlan& plan);

// {riskLevel, steps: [{stepId, tool, riskLevel, preview, index?, changes?, unknown?}], creates,
// modifies, renames, deletes, commands}. `unknown` says why a step is not known before the run.
json::object preview_json(const CheckedPlan& plan, const std::vector<domain::PlanRecord>& records,
                          const PreviewPerformer& performer);

}  // namespace plan
