#include "exec/plan/entry/run_plan_tool.h"

#include "base/text.h"
#include "exec/plan/language/check.h"
#include "exec/tools/builtin/task_tools.h"

namespace plan {
namespace {

constexpr std::size_t kFaultsShownMax = 20;
constexpr std::size_t kFaultsCharsMax = 4000;

// Objects whose members are not known here: in a schema they would be objects without any, for
// providers receive no other.
struct RunPlanArgs {
    std::optional<json::value> plan{};
    std::optional<std::string> action{};
    std::optional<json::value> params{};
    std::optional<std::int64_t> yield_time_ms{};
};
BOOST_DESCRIBE_STRUCT(RunPlanArgs, (), (plan, action, params, yield_time_ms))
constexpr auto describe_fields(const RunPlanArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"plan",
          "The plan, an object: {version \"1.0\", goal, riskLevel read-only|writes|commands, steps "
          "[{id, "
          "tool, "
          "args, foreach? {from, itemName}, dependsOn?, captureAs?, onError? stop|skip|retry, "
          "retry?, timeoutMs?}]}. Texts in args may hold $steps.<id>.<field>, $vars.<name> and, in "
          "a loop, {itemName.field}."},
         {"action", "Instead of a plan: the name of a saved action."},
         {"params", "An object: values for the action's parameters."},
         {"yield_time_ms",
          "How long to wait for the end; a run that takes longer continues as a task.",
          R"("minimum":0,"maximum":120000,"default":10000)"}});
}

std::string run_words(const json::object& receipt) {
    const json::value value(receipt);
    const auto& steps = *base::find(value, "steps");
    return fmt::format("Plan run {} {}: {} of {} steps", base::string_at(value, "run_id"),
                       base::string_at(value, "status"), base::int_at(steps, "succeeded"),
                       base::int_at(steps, "total"));
}

tools::Outcome outcome_of(PlanOver over) {
    std::string summary = run_words(over.receipt);
    tools::Outcome outcome{.completed =
                               builtin::document(std::move(summary), std::move(over.receipt))};
    if (over.status == domain::PlanRunStatus::Cancelled)
        outcome.status = domain::ResultStatus::Cancelled;
    return outcome;
}

tools::Outcome outcome_of(PlanContinues continues) {
    std::string summary = run_words(continues.receipt);
    auto result = std::move(continues.receipt);
    result["task"] = std::move(continues.task);
    return {.completed = builtin::document(std::move(summary), std::move(result))};
}

// All of them in the message: details are for machines, and shorter.
tools::Outcome outcome_of(const PlanRefused& refused) {
    const std::size_t count = refused.faults.size();
    const std::vector<Fault> shown(
        refused.faults.begin(),
        refused.faults.begin() + static_cast<std::ptrdiff_t>(std::min(count, kFaultsShownMax)));
    return {.completed = std::unexpected(domain::ToolError{
                .kind = "invalid_tool_input",
                .message = fmt::format(
                    "The plan has {} and was not run.{}\n{}",
                    base::counted(static_cast<std::int64_t>(count), "fault"),
                    shown.size() < count ? " The first of them:" : "",
                    base::printable(
                        base::ellipsize(base::to_utf8(faults_text(shown)), kFaultsCharsMax), true)),
                .details = json::object{{"tool_name", kRunPlanTool}, {"fault_count", count}},
                .recovery_hint = "Fix every fault at its path and send the whole plan again."})};
}

tools::Outcome outcome_of(domain::ToolError error) {
    return {.completed = std::unexpected(std::move(error))};
}

class RunPlan final : public tools::Tool {
public:
    explicit RunPlan(AgentPlans& plans) : plans_(plans) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::optional<domain::ToolError> check(const json::value& value) const override {
        const auto args = base::from_json<RunPlanArgs>(value);
        for (const auto& [name, given] : {std::pair("plan", args ? args->plan : std::nullopt),
                                          std::pair("params", args ? args->params : std::nullopt)})
            if (given && !given->is_object())
                return tools::invalid_input(kRunPlanTool, name,
                                            fmt::format("{} has to be an object", name),
                                            "Send it as an object, not as text.");
        if (args && args->plan.has_value() != args->action.has_value()) return std::nullopt;
        return tools::invalid_input(kRunPlanTool, "plan", "give either a plan or an action",
                                    "Send exactly one of the two.");
    }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        const auto args = base::from_json<RunPlanArgs>(call.args).value();
        PlanAsk ask{.call = call,
                    .place = place,
                    .action = args.action,
                    .params = args.params.value_or(json::object()).as_object()};
        if (args.plan) ask.plan = args.plan->as_object();
        ask.yield = std::chrono::milliseconds(std::clamp<std::int64_t>(
            args.yield_time_ms.value_or(kPlanYieldMsDefault), 0, kPlanYieldMsMax));
        return plans_.start(std::move(ask), [done = std::move(done)](PlanAnswer answer) mutable {
            done(std::visit([](auto& one) { return outcome_of(std::move(one)); }, answer));
        });
    }

    void can_resume(const domain::ToolCall& call,
                    std::move_only_function<void(bool)> done) const override {
        plans_.knows(call.call_id, std::move(done));
    }

private:
    AgentPlans& plans_;
    // It changes nothing itself: each step is judged as a call of this agent, by its own tool's
    // risk. A call that a crash cut off is made again and finds the run that it had made.
    const tools::ToolSpec spec_{
        .name = std::string(kRunPlanTool),
        .description =
            "Run a whole plan, many tool calls with references between them, as one call. It is "
            "checked first; all faults are reported at once and nothing is run. A plan that writes "
            "or "
            "runs commands may have to wait for the operator's approval. A run that is not over "
            "after yield_time_ms continues as a task, and its end comes back as a message.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::ReadOnly,
        .category = std::string(kTurnCategory),
        .repeatable = true,
        .input_schema = base::schema_of<RunPlanArgs>(),
        .render = builtin::render_document};
};

}  // namespace

std::unique_ptr<tools::Tool> run_plan_tool(AgentPlans& plans) {
    return std::make_unique<RunPlan>(plans);
}

}  // namespace plan
