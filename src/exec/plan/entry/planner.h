// Asking a model for a plan: what it reads, and what is made of its answer. Pure; who asks, and
// how often, is the caller's. A model says what is to be done and nothing else: policy, vault,
// parameters and approval have no place in a plan, and what it adds there is a fault.
#pragma once

#include <expected>
#include <filesystem>

#include "exec/plan/language/check.h"
#include "provider/provider.h"

namespace plan {

// How often a model is asked for one plan, with the faults of its earlier answers.
inline constexpr std::int64_t kPlannerTriesMax = 3;
inline constexpr std::size_t kGoalCharsMax = 16'000;
inline constexpr std::size_t kAnswerBytesMax = std::size_t{1} * 1024 * 1024;
// Of the answer that is returned with its faults, and of the faults.
inline constexpr std::size_t kAnswerEchoCharsMax = 60'000;
inline constexpr std::size_t kFaultsShownMax = 30;
inline constexpr std::size_t kFaultsTextCharsMax = 12'000;
// Of the vault that the model is shown.
inline constexpr std::size_t kVaultNamesMax = 400;
inline constexpr std::size_t kVaultNamesBytesMax = 24'000;

struct PlanningRequest {
    std::string goal;
    std::string model_ref;
    std::vector<std::string> vault_names{};  // Relative, some of them; see vault_names().
    bool vault_is_cut{false};
    std::int64_t max_output_tokens{8192};
};

// May a plan that a model writes use this tool?
bool is_plannable(const tools::ToolSpec& spec);

// The first question: rules, the form of a plan, the tools, what is in the vault, and the goal.
provider::Request planner_request(const PlanningRequest& asked, const tools::Registry& registry,
                                  std::string request_id);

// The plan in an answer: bare, in a fence, or with text around it. Nothing but JSON is taken.
std::expected<CheckedPlan, std::vector<Fault>> read_answer(const provider::Reply& reply,
                                                           const tools::Registry& registry);

// Puts the faults behind the answer that has them, so that the next question is about them.
void return_faults(provider::Request& request, const provider::Reply& reply,
                   const std::vector<Fault>& faults);

// Who made the plan, as its calls record it: this program and the model that answered.
std::string planner_version(const std::string& model_ref);

}  // namespace plan
