// The tool by which an agent has a whole plan run with one call.
#pragma once

#include <chrono>
#include <memory>
#include <variant>

#include "domain/plan.h"
#include "domain/waiting.h"
#include "exec/plan/language/model.h"
#include "exec/tools/tool.h"

namespace plan {

inline constexpr std::string_view kRunPlanTool = "RunPlan";
inline constexpr std::int64_t kPlanYieldMsDefault = 10'000;
inline constexpr std::int64_t kPlanYieldMsMax = 120'000;

// What an agent asks for: a plan, or an action by its name.
struct PlanAsk {
    domain::ToolCall call;
    tools::ExecutionContext place;
    std::optional<json::object> plan{};
    std::optional<std::string> action{};
    json::object params{};
    std::chrono::milliseconds yield{kPlanYieldMsDefault};
};

// It was over in time, or cannot be run.
struct PlanOver {
    json::object receipt;  // See receipt.h.
    domain::PlanRunStatus status{domain::PlanRunStatus::Succeeded};
};
// It continues as a task, or waits for the operator; its end comes back as a message.
struct PlanContinues {
    json::object receipt;
    json::object task;  // See tasks::handle().
};
struct PlanRefused {
    std::vector<Fault> faults;
};
using PlanAnswer = std::variant<PlanOver, PlanContinues, PlanRefused, domain::ToolError>;

// Stores and executes the runs of agents: flow/plans, wired by app/. Used on the loop.
class AgentPlans {
public:
    virtual ~AgentPlans() = default;
    // `done` is called once, on the loop, never before start() has returned. The same call again
    // continues the run that it had made. Cancelling ends the run, unless it is a task by then.
    virtual std::shared_ptr<tools::Running> start(
        PlanAsk ask, std::move_only_function<void(PlanAnswer)> done) = 0;
    // Has this call made a run? `done` comes once, on the loop, unless the plans are gone by then.
    // False also when the store cannot be read. Called on the loop.
    virtual void knows(const domain::ToolCallId& call,
                       std::move_only_function<void(bool)> done) = 0;
};

// `plans` is asked for when the tool is used.
std::unique_ptr<tools::Tool> run_plan_tool(AgentPlans& plans);

}  // namespace plan
