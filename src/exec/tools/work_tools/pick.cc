#include "base/text.h"
#include "exec/tools/work_tools/work_tool.h"

namespace work_tools {
namespace {

constexpr std::string_view kBindingNote =
    "Focus has moved. What this turn was begun for stays bound to it until the turn ends.";

struct PickArgs {
    std::string work_item_id;
    std::optional<std::string> reason{};
};
BOOST_DESCRIBE_STRUCT(PickArgs, (), (work_item_id, reason))
constexpr auto describe_fields(const PickArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"work_item_id", "An open work item of yours.", R"("minLength":1)"},
         {"reason", "Why focus leaves a work item that could continue."}});
}

struct PickResult {
    std::optional<json::object> previous_work_item{};
    json::object current_work_item;
    std::string current_work_item_id;
    json::object transition;
    std::string binding_note;
};
BOOST_DESCRIBE_STRUCT(PickResult, (),
                      (previous_work_item, current_work_item, current_work_item_id, transition,
                       binding_note))

template <class T>
json::value or_null(const std::optional<T>& value) {
    return value ? base::to_json(*value) : json::value(nullptr);
}

json::object transition_view(const work::Transition& moved) {
    json::object seen{{"previous_work_item_id", or_null(moved.previous_work_item_id)},
                      {"current_work_item_id", moved.current_work_item_id.value},
                      {"reason", or_null(moved.reason)},
                      {"previous_readiness", or_null(moved.previous_readiness)},
                      {"current_readiness", base::enum_name(moved.current_readiness)},
                      {"switch_kind", moved.switch_kind},
                      {"current_focus_mode", moved.current_focus_mode}};
    if (moved.lacks_reason)
        seen["warnings"] = json::array{json::object{
            {"code", "missing_pick_reason_for_runnable_focus_switch"},
            {"message", "Focus left a work item that could continue, and no reason was given."}}};
    return seen;
}

class PickWorkItem final : public WorkTool {
public:
    explicit PickWorkItem(Parts parts)
        : WorkTool(parts,
                   spec_of(work::kPickTool,
                           "Make an open work item your current one. Only this moves focus.", true,
                           base::schema_of<PickArgs>(), base::schema_of<PickResult>())) {}

protected:
    Answered answer(const domain::ToolCall& call,
                    const tools::ExecutionContext& place) const override {
        const auto args = base::from_json<PickArgs>(call.args).value();
        const domain::WorkItemId id{std::string(base::trim(args.work_item_id))};
        const auto known = TRY(load_open(place, id));
        std::optional<std::string> reason;
        if (args.reason && !base::trim(*args.reason).empty()) reason = base::trim(*args.reason);
        std::optional<WorkItem> previous;
        if (known.agent.current_work_item_id)
            previous = TRY(load(place, *known.agent.current_work_item_id)).item;
        const auto moved = work::transition(previous, *known.item, reason);
        json::object result{{"current_work_item", base::to_json(*known.item)},
                            {"current_work_item_id", id.value},
                            {"transition", transition_view(moved)},
                            {"binding_note", kBindingNote}};
        if (previous) result["previous_work_item"] = base::to_json(*previous);
        return Answer{
            fmt::format("Current work item is now {}: {}", id,
                        base::ellipsize(base::collapse_whitespace(known.item->objective), 120)),
            std::move(result),
            {work::Pick{.id = id, .reason = reason}}};
    }
};

}  // namespace

std::unique_ptr<tools::Tool> pick_work_item(Parts parts) {
    return std::make_unique<PickWorkItem>(parts);
}

}  // namespace work_tools
