// Plans kept by name, old runs put away, and the tools that plans can name.
#include "exec/plan/language/params.h"
#include "exec/plan/language/parse.h"
#include "exec/plan/language/wire.h"
#include "flow/plans/plans.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::int64_t kActionsMax = 1000;
constexpr std::size_t kPrunedMax = 1000;
constexpr std::size_t kActionNameCharsMax = 64;

bool is_action_name(std::string_view name) {
    return !name.empty() && name.size() <= kActionNameCharsMax && plan::is_step_id(name);
}

}  // namespace

base::Result<domain::PlanAction> Plans::save(const std::string& name,
                                             const std::string& description,
                                             const std::optional<std::string>& run,
                                             const std::optional<std::string>& text) {
    if (!is_action_name(name))
        return fail(
            ErrorCode::InvalidInput,
            "'{}' is no name for an action: a letter, then letters, digits, '-' and '_', at "
            "most {} of them",
            name, kActionNameCharsMax);
    domain::PlanAction action{.name = name, .description = description};
    if (run) {
        const auto stored = TRY(load_run(parts_.store, TRY(name_run(*run))));
        if (stored.run.status != domain::PlanRunStatus::Succeeded)
            return fail(ErrorCode::Conflict,
                        "run {} has not succeeded; only plans that did are kept",
                        stored.run.run_id);
        action.plan = stored.document;
        action.saved_from = stored.run.run_id;
    } else {
        action.plan = TRY(plan::parse_document(text.value_or("")));
    }
    const auto checked = plan::check(action.plan, parts_.dispatcher.registry());
    if (!checked)
        return fail(ErrorCode::InvalidInput, "the plan has faults:\n{}",
                    plan::faults_text(checked.error()));
    action.plan_hash = (*checked)->hash;
    action.params = (*checked)->params;
    action.param_types = plan::param_types(**checked, parts_.dispatcher.registry());
    if (action.description.empty()) action.description = (*checked)->plan.goal;
    action.saved_at = parts_.clock.now();
    TRY(parts_.store.write(store::Durability::Disk,
                           [&](store::Tx& tx) { return tx.put_plan_action(action); }));
    return action;
}

base::Result<std::vector<domain::PlanAction>> Plans::actions() {
    std::vector<domain::PlanAction> list;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        list = TRY(tx.plan_actions(kActionsMax));
        return {};
    }));
    return list;
}

base::Result<domain::PlanAction> Plans::action(const std::string& name) {
    std::optional<domain::PlanAction> found;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        found = TRY(tx.plan_action(name));
        return {};
    }));
    if (!found)
        return fail(ErrorCode::NotFound, "there is no action '{}'; see holon plan actions", name);
    return std::move(*found);
}

base::Status Plans::remove_action(const std::string& name) {
    TRY(action(name));
    return parts_.store.write(store::Durability::Disk,
                              [&](store::Tx& tx) { return tx.erase_plan_action(name); });
}

base::Result<domain::PlanPruned> Plans::prune(std::optional<std::chrono::milliseconds> older_than,
                                              bool dry_run) {
    const auto retention = older_than ? std::optional(plan::Retention{.max_age = older_than})
                                      : configured_retention(parts_.settings.retention);
    if (!retention)
        return fail(ErrorCode::Refused,
                    "plan.retention.enabled is off; say what to remove with --older-than");
    return plans::prune(parts_, *retention, kPrunedMax, dry_run);
}

std::vector<domain::ToolView> Plans::tools() const {
    std::vector<domain::ToolView> list;
    for (const auto* spec : parts_.dispatcher.registry().all())
        list.push_back({.name = spec->name,
                        .description = spec->description,
                        .risk_level = std::string(plan::risk_name(spec->risk)),
                        .category = spec->category,
                        .repeatable = spec->repeatable,
                        .input_schema = spec->input_schema,
                        .output_schema = spec->output_schema});
    return list;
}

}  // namespace plans
