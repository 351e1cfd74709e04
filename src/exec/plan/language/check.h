// Does a decoded plan make sense: its tools, its references, its order, its risk?
#pragma once

#include <expected>
#include <memory>

#include "exec/plan/language/model.h"
#include "exec/tools/registry.h"

namespace plan {

// Variables that every run has; no step may capture under these names.
inline constexpr std::string_view kRunVar = "run";
inline constexpr std::string_view kContextVar = "context";
inline constexpr std::string_view kParamsVar = "params";

// Of tools that act on the agent whose turn calls them, and have no place in a plan.
inline constexpr std::string_view kTurnCategory = "agent";

// A plan that passed, with what was found out on the way. Never changes.
struct Checked {
    Plan plan;
    json::value document;  // As it was written; what is hashed and shown.
    std::string hash;
    domain::RiskLevel risk{domain::RiskLevel::ReadOnly};  // Of its tools, not what it claims.
    // By step: the steps it waits for, stated or implied by references, and those that wait for it.
    std::vector<std::vector<std::size_t>> needs{};
    std::vector<std::vector<std::size_t>> needed_by{};
    std::map<std::string, std::size_t> by_id{};
    std::map<std::string, std::size_t> by_capture{};
    std::vector<std::string> params{};  // Names below $vars.params, sorted.
};
using CheckedPlan = std::shared_ptr<const Checked>;

// All faults of a document at once, each with its place and a hint, or the plan.
std::expected<CheckedPlan, std::vector<Fault>> check(const json::value& document,
                                                     const tools::Registry& registry);

// The same from text; a text that cannot be parsed is one fault at "".
std::expected<CheckedPlan, std::vector<Fault>> check_text(std::string_view text,
                                                          const tools::Registry& registry);

// "/steps/0/tool: there is no tool 'x'. Did you mean y?", one a line.
std::string faults_text(const std::vector<Fault>& faults);

}  // namespace plan
