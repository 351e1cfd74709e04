// From what an operator asks for to what a run is made of.
#pragma once

#include "config/sections/plans.h"
#include "domain/plan_views.h"
#include "exec/plan/language/check.h"

namespace plans {

// What plans may do unless a run says otherwise: what the operator has set, and else changes are
// approved and stay in the vault.
domain::PolicySnapshot default_policy(const std::filesystem::path& vault,
                                      const config::PlanPolicy& set);

// Names of files below the vault that the policy allows, without those in hidden folders, sorted:
// some, when there are more than `names_max`.
std::vector<std::string> vault_names(const std::filesystem::path& vault,
                                     const domain::SandboxPolicy& sandbox, std::size_t names_max);

// Binds the plan's contextRequests from what the request brings and what the vault shows. What
// cannot be bound is a fault.
json::object bind_context(const plan::Plan& plan, const json::object& given,
                          const std::filesystem::path& vault, const config::Plans& settings,
                          const domain::SandboxPolicy& sandbox,
                          std::vector<domain::PlanFault>& faults);

// Every parameter the plan names has to be given, as the type its uses ask for, and no other.
// Returns them as those types.
json::object check_params(const plan::Checked& plan, const tools::Registry& registry,
                          const json::object& given, std::vector<domain::PlanFault>& faults);

std::vector<domain::PlanFault> shown(const std::vector<plan::Fault>& faults);

}  // namespace plans
