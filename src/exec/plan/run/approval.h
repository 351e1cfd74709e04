// Who said that a run may begin, for exactly which plan and policy, and until when.
#pragma once

#include "exec/plan/language/check.h"
#include "exec/plan/language/wire.h"

namespace plan {

inline constexpr std::chrono::hours kApprovalLifetimeDefault{24};
inline constexpr std::chrono::hours kApprovalLifetimeMax{24 * 30};

// Plans that only read need none, and a policy can do without.
bool needs_approval(const domain::PlanRun& run);

struct NewRun {
    domain::RunId run_id;
    CheckedPlan plan;
    std::string vault;
    domain::PolicySnapshot policy{};
    json::object context{};
    json::object params{};
    std::optional<std::string> action{};
    std::optional<domain::RunId> reverts{};
    std::string tool_registry_version{};
    std::optional<std::string> planner_version{};
    std::optional<domain::PlanOwner> owner{};
};

// A run that has not begun, and the first line of its journal when it asks for an approval.
struct Created {
    domain::PlanRun run;
    std::vector<RunEvent> events{};
};
Created create_run(const NewRun& made, base::Time now);

struct Approve {
    std::string confirmation_id;
    std::string approver;
    std::chrono::milliseconds lifetime{kApprovalLifetimeDefault};
};
// Refused when the run has ended or the stored plan is not the one it was made for.
base::Result<RunEvent> approve(domain::PlanRun& run, const json::value& document,
                               const Approve& approve, base::Time now);
// Ends the run without an effect. Conflict when it has begun.
base::Result<RunEvent> reject(domain::PlanRun& run, const std::string& by,
                              const std::string& reason, base::Time now);

// Whether the run may begin or be resumed: an approval where one is needed, of this very plan,
// policy and inputs, that has not expired.
base::Status check_approval(const domain::PlanRun& run, const json::value& document,
                            base::Time now);

}  // namespace plan
