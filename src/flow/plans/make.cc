#include "agent/workspace/workspace.h"
#include "base/text.h"
#include "flow/plans/maker.h"
#include "flow/plans/plans.h"
#include "flow/plans/request.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;

plan::PlanningRequest planning_request(const domain::PlanMakeRequest& request, std::string model,
                                       const std::filesystem::path& vault,
                                       const config::Plans& settings) {
    plan::PlanningRequest planning{.goal = request.goal, .model_ref = std::move(model)};
    auto names = vault_names(vault, default_policy(vault, settings.policy).sandbox,
                             plan::kVaultNamesMax + 1);
    std::size_t bytes = 0;
    for (auto& name : names) {
        bytes += name.size();
        planning.vault_is_cut = planning.vault_names.size() == plan::kVaultNamesMax ||
                                bytes > plan::kVaultNamesBytesMax;
        if (planning.vault_is_cut) break;
        planning.vault_names.push_back(std::move(name));
    }
    return planning;
}

// What the plan asks for and a run of it will not have: a made plan gets no selection.
std::vector<plan::Fault> unbound(const plan::Checked& plan, const std::filesystem::path& vault,
                                 const config::Plans& settings) {
    std::vector<domain::PlanFault> faults;
    bind_context(plan.plan, {}, vault, settings, default_policy(vault, settings.policy).sandbox,
                 faults);
    std::vector<plan::Fault> out;
    for (auto& fault : faults)
        out.push_back({std::move(fault.path), std::move(fault.message),
                       "Do without it; read files with the tools instead."});
    return out;
}

}  // namespace

base::Result<domain::PlanMade> Plans::make(const domain::PlanMakeRequest& request) {
    const auto& planner = parts_.planner;
    if (base::trim(request.goal).empty())
        return fail(ErrorCode::InvalidInput, "say what the plan is to do");
    if (base::char_count(base::to_utf8(request.goal)) > plan::kGoalCharsMax)
        return fail(ErrorCode::InvalidInput,
                    "a goal has at most {} characters; put the rest into "
                    "a file of the vault",
                    plan::kGoalCharsMax);
    if (!planner.provider) return fail(ErrorCode::Unavailable, "no model can be asked here");
    const auto entry = TRY(workspace::enter(request.vault.value_or(parts_.vault.string()), ""));
    auto planning = planning_request(request, TRY(planner.model_of(request.model)),
                                     entry.execution_root, parts_.settings);
    planning.max_output_tokens = planner.max_output_tokens_of(planning.model_ref);
    const auto made = TRY(ask_planner(planning, entry.execution_root));
    domain::PlanMade out{.faults = shown(made.faults), .tries = made.tries};
    out.planner_version = plan::planner_version(made.model_ref);
    if (!made.plan) return out;
    out.ok = true;
    out.plan = made.plan->document;
    out.plan_hash = made.plan->hash;
    TRY(parts_.store.write(store::Durability::Disk, [&](store::Tx& tx) {
        return tx.put_plan_origin({out.plan_hash, out.planner_version, parts_.clock.now()});
    }));
    out.preview = TRY(preview({.text = base::json_text(out.plan), .vault = entry.execution_root}));
    return out;
}

base::Result<MadePlan> Plans::ask_planner(const plan::PlanningRequest& planning,
                                          const std::filesystem::path& vault) {
    std::shared_ptr<Making> making;  // Made and dropped on the loop.
    return await_work<MadePlan>(
        [&](const Done<MadePlan>& done) {
            making = make_plan({.provider = *parts_.planner.provider,
                                .ids = parts_.ids,
                                .registry = parts_.dispatcher.registry(),
                                .objections =
                                    [this, vault](const plan::Checked& plan) {
                                        return unbound(plan, vault, parts_.settings);
                                    }},
                               planning, [&making, done](base::Result<MadePlan> one) {
                                   making = nullptr;
                                   done(std::move(one));
                               });
        },
        [&](const std::string&) {
            if (making) making->cancel();
        });
}

}  // namespace plans
