#include "agent/work/plan_file.h"
#include "base/hash.h"
#include "base/text.h"
#include "exec/tools/work_tools/work_tool.h"

namespace work_tools {
namespace {

struct CreateArgs {
    std::string objective;
    std::optional<domain::PlanStatus> plan_status{};
    std::optional<std::string> plan{};
    std::optional<std::vector<domain::TodoItem>> todo_list{};
};
BOOST_DESCRIBE_STRUCT(CreateArgs, (), (objective, plan_status, plan, todo_list))
constexpr auto describe_fields(const CreateArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"objective", "What is to be achieved, in one or two sentences.", R"("minLength":1)"},
         {"plan_status",
          "draft (default), ready, or needs_input when the operator has to answer first."},
         {"plan", "The first text of the plan file. Change the plan later by editing that file."},
         {"todo_list", "The whole checklist."}});
}

class CreateWorkItem final : public WorkTool {
public:
    explicit CreateWorkItem(Parts parts)
        : WorkTool(parts,
                   spec_of(work::kCreateTool,
                           "Create a work item: an objective that outlives this message. It does "
                           "not become your current one; pick it for that.",
                           true, base::schema_of<CreateArgs>(), base::schema_of<ItemResult>())) {}

    std::optional<ToolError> check(const json::value& json) const override {
        const auto args = base::from_json<CreateArgs>(json).value();
        if (const auto refusal = work::check(made_of(args))) return refused(spec().name, *refusal);
        if (args.plan && base::trim(*args.plan).empty())
            return tools::invalid_input(spec().name, "plan", "plan must not be blank",
                                        "Leave it out, or say what the plan is.");
        if (args.plan && args.plan->size() > work::kPlanBytesMax)
            return tools::invalid_input(spec().name, "plan",
                                        fmt::format("plan has {} bytes; the limit is {}",
                                                    args.plan->size(), work::kPlanBytesMax),
                                        "Send a shorter plan.");
        return std::nullopt;
    }

protected:
    Answered answer(const domain::ToolCall& call,
                    const tools::ExecutionContext& place) const override {
        const auto args = base::from_json<CreateArgs>(call.args).value();
        const auto known = TRY(load(place, {}));
        auto made = made_of(args);
        // The same call made again after a crash makes the same item.
        made.id = {"work_" + base::sha256_hex("work item of " + call.call_id.value).substr(0, 32)};
        made.agent_id = place.agent_id;
        const auto& entry = known.agent.active_workspace_entry;
        made.workspace_id = entry ? entry->workspace_id : "agent_home";
        const auto written =
            work::write_plan(place.agent_home, made.id, args.plan ? base::trim(*args.plan) : "");
        if (!written) return std::unexpected(failed(written.error()));
        made.plan_artifact = TRY(plan_of(place, made.id));
        const auto item = work::create(made, parts_.clock.now());
        return Answer{fmt::format("Created work item {}: {}", made.id,
                                  base::ellipsize(base::collapse_whitespace(made.objective), 120)),
                      {{"work_item", view_of(known, item, *made.plan_artifact, true)}},
                      {made}};
    }

private:
    static work::NewItem made_of(const CreateArgs& args) {
        return {.objective = std::string(base::trim(args.objective)),
                .plan_status = args.plan_status.value_or(domain::PlanStatus::Draft),
                .todo_list = args.todo_list.value_or(std::vector<domain::TodoItem>{})};
    }
};

}  // namespace

std::unique_ptr<tools::Tool> create_work_item(Parts parts) {
    return std::make_unique<CreateWorkItem>(parts);
}

}  // namespace work_tools
