#include <algorithm>

#include "base/text.h"
#include "exec/tools/work_tools/work_tool.h"

namespace work_tools {
namespace {

constexpr std::size_t kTodoSample = 5;

struct CompleteArgs {
    std::string work_item_id;
};
BOOST_DESCRIBE_STRUCT(CompleteArgs, (), (work_item_id))
constexpr auto describe_fields(const CompleteArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"work_item_id", "A work item of yours.", R"("minLength":1)"}});
}

struct CompleteResult {
    json::object work_item;
    std::optional<std::vector<json::object>> warnings{};
    bool completed_transition{false};
    std::optional<bool> completion_report_promoted{};
    std::optional<std::string> completion_report_source{};
};
BOOST_DESCRIBE_STRUCT(CompleteResult, (),
                      (work_item, warnings, completed_transition, completion_report_promoted,
                       completion_report_source))

std::optional<json::object> unfinished(const WorkItem& item) {
    json::array sample;
    std::int64_t pending = 0;
    std::int64_t in_progress = 0;
    for (const auto& todo : item.todo_list) {
        if (todo.state == domain::TodoState::Completed) continue;
        ++(todo.state == domain::TodoState::Pending ? pending : in_progress);
        if (sample.size() < kTodoSample) sample.push_back(base::to_json(todo));
    }
    if (sample.empty()) return std::nullopt;
    return json::object{{"kind", "unfinished_todos"},
                        {"message", "The checklist has entries that are not finished."},
                        {"pending_count", pending},
                        {"in_progress_count", in_progress},
                        {"sample", std::move(sample)}};
}

tools::ToolSpec complete_spec() {
    auto spec = spec_of(work::kCompleteTool,
                        "Mark a work item as completed. Write the report for the operator as text "
                        "of the same message; only that becomes the report.",
                        true, base::schema_of<CompleteArgs>(), base::schema_of<CompleteResult>());
    spec.completes_work_item = true;
    return spec;
}

class CompleteWorkItem final : public WorkTool {
public:
    explicit CompleteWorkItem(Parts parts) : WorkTool(parts, complete_spec()) {}

protected:
    Answered answer(const domain::ToolCall& call,
                    const tools::ExecutionContext& place) const override {
        const auto args = base::from_json<CompleteArgs>(call.args).value();
        work::Complete change{.id = {std::string(base::trim(args.work_item_id))}};
        auto known = TRY(load(place, change.id));
        if (!known.item)
            return std::unexpected(
                refused(spec().name, *work::may_change(known.item, change.id, place.agent_id)));
        change.plan_artifact = TRY(plan_of(place, change.id));
        const auto changed = work::complete(*known.item, change, parts_.clock.now());
        if (changed.is_written && known.current == change.id) known.current.reset();
        // Its waits end with it.
        if (changed.is_written) known.waits.clear();
        json::object result{
            {"work_item", view_of(known, changed.item, *change.plan_artifact, true)},
            {"completed_transition", changed.is_written}};
        json::array warnings;
        if (changed.is_written) {
            if (auto warning = unfinished(*known.item)) warnings.push_back(std::move(*warning));
            report(place.context, result, warnings);
        }
        if (!warnings.empty()) result["warnings"] = std::move(warnings);
        Answer answer{fmt::format("Work item {} {}", change.id,
                                  changed.is_written ? "completed" : "was completed already"),
                      std::move(result)};
        if (changed.is_written) answer.mutations.emplace_back(std::move(change));
        return answer;
    }

private:
    // Says what becomes of the round's text. The turn promotes it when the round is over.
    static void report(const json::object& round, json::object& result, json::array& warnings) {
        const auto* has_report = round.if_contains("has_report");
        const auto* completions = round.if_contains("completions");
        if (!has_report || !has_report->is_bool() || !has_report->get_bool()) {
            warnings.push_back(json::object{
                {"kind", "missing_completion_report"},
                {"message",
                 "This message has no text besides its calls, so the completion has no report."}});
            return;
        }
        if (completions && completions->is_int64() && completions->get_int64() > 1) {
            warnings.push_back(json::object{
                {"kind", "completion_report_not_promoted_multiple_completions"},
                {"message",
                 "This message completes several work items; its text is a report only if a single "
                 "one of these calls completes its item."}});
            return;
        }
        result["completion_report_promoted"] = true;
        result["completion_report_source"] = "same_assistant_round";
    }
};

}  // namespace

std::unique_ptr<tools::Tool> complete_work_item(Parts parts) {
    return std::make_unique<CompleteWorkItem>(parts);
}

}  // namespace work_tools
