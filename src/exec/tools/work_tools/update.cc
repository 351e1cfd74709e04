#include "base/text.h"
#include "exec/tools/work_tools/work_tool.h"

namespace work_tools {
namespace {

struct UpdateArgs {
    std::string work_item_id;
    std::optional<std::string> objective{};
    std::optional<domain::PlanStatus> plan_status{};
    std::optional<std::vector<domain::TodoItem>> todo_list{};
    std::optional<std::string> blocked_by{};
    std::optional<std::int64_t> recheck_after{};
};
BOOST_DESCRIBE_STRUCT(UpdateArgs, (),
                      (work_item_id, objective, plan_status, todo_list, blocked_by, recheck_after))
constexpr auto describe_fields(const UpdateArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"work_item_id", "An open work item of yours.", R"("minLength":1)"},
         {"objective", "A new objective."},
         {"plan_status", "draft, ready, or needs_input to wait for the operator."},
         {"todo_list", "The whole checklist; it replaces the one there is."},
         {"blocked_by",
          "What the item waits for. null or an empty text clears it, leaving it out keeps it."},
         {"recheck_after",
          "With blocked_by: after how many milliseconds to remind you of it (default one hour)."}});
}

class UpdateWorkItem final : public WorkTool {
public:
    explicit UpdateWorkItem(Parts parts)
        : WorkTool(parts,
                   spec_of(work::kUpdateTool,
                           "Change a work item: objective, plan_status, todo_list, blocker. "
                           "blocked_by and needs_input make it wait and release your focus.",
                           true, base::schema_of<UpdateArgs>(), base::schema_of<ItemResult>())) {}

    std::optional<ToolError> check(const json::value& json) const override {
        if (const auto refusal = work::check(change_of(json)))
            return refused(spec().name, *refusal);
        return std::nullopt;
    }

protected:
    Answered answer(const domain::ToolCall& call,
                    const tools::ExecutionContext& place) const override {
        auto change = change_of(call.args);
        auto known = TRY(load_open(place, change.id));
        change.plan_artifact = TRY(plan_of(place, change.id));
        const auto changed = work::update(*known.item, change, parts_.clock.now());
        if (changed.releases_focus && known.current == change.id) known.current.reset();
        Answer answer{fmt::format("Work item {} {}", change.id,
                                  changed.is_written ? "updated" : "is unchanged"),
                      {{"work_item", view_of(known, changed.item, *change.plan_artifact, true)}}};
        if (changed.is_written) answer.mutations.emplace_back(std::move(change));
        return answer;
    }

private:
    static work::Update change_of(const json::value& json) {
        const auto args = base::from_json<UpdateArgs>(json).value();
        work::Update change{.id = {std::string(base::trim(args.work_item_id))},
                            .plan_status = args.plan_status,
                            .todo_list = args.todo_list,
                            .recheck_after_ms = args.recheck_after};
        if (args.objective) change.objective = base::trim(*args.objective);
        if (args.blocked_by) change.blocked_by = base::trim(*args.blocked_by);
        // Null is a value here: it clears the blocker.
        if (const auto* given = base::find(json, "blocked_by"); given && given->is_null())
            change.blocked_by = "";
        return change;
    }
};

}  // namespace

std::unique_ptr<tools::Tool> update_work_item(Parts parts) {
    return std::make_unique<UpdateWorkItem>(parts);
}

}  // namespace work_tools
