// Asks a model for a plan until it gives one that can be run, or has had its tries.
#pragma once

#include <functional>
#include <memory>

#include "exec/plan/entry/planner.h"
#include "flow/plans/execution/session.h"

namespace plans {

struct MadePlan {
    plan::CheckedPlan plan{};           // Null when the last try had faults, too.
    std::vector<plan::Fault> faults{};  // Of the last try.
    std::int64_t tries{0};
    std::string model_ref;  // Who answered last.
};

// On its way. cancel() ends the request; `done` still comes, with an error.
class Making {
public:
    virtual ~Making() = default;
    virtual void cancel() = 0;
};

struct MakerParts {
    provider::Provider& provider;
    base::Ids& ids;
    const tools::Registry& registry;
    // What stands against a plan here that a check of the plan alone cannot know.
    std::function<std::vector<plan::Fault>(const plan::Checked&)> objections;
};

// From the loop's thread. `done` is called once, on the loop; an error is a model that could not
// be asked. Nothing is executed.
std::shared_ptr<Making> make_plan(MakerParts parts, const plan::PlanningRequest& request,
                                  std::move_only_function<void(base::Result<MadePlan>)> done);

}  // namespace plans
