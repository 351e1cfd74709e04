#include <algorithm>

#include "base/text.h"
#include "exec/tools/work_tools/work_tool.h"

namespace work_tools {
namespace {

constexpr std::int64_t kListDefault = 20;
constexpr std::int64_t kListMax = 100;

struct GetArgs {
    std::string work_item_id;
    bool include_todo_list{false};
};
BOOST_DESCRIBE_STRUCT(GetArgs, (), (work_item_id, include_todo_list))
constexpr auto describe_fields(const GetArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"work_item_id", "A work item of yours.", R"("minLength":1)"},
         {.field = "include_todo_list",
          .text = "Show the checklist, too.",
          .keywords = R"("default":false)",
          .has_default = true}});
}
struct GetResult {
    json::object context;
    json::object work_item;
};
BOOST_DESCRIBE_STRUCT(GetResult, (), (context, work_item))

enum class Filter { All, Open, Completed, Current, Queued, Blocked, WaitingForOperator, Runnable };
BOOST_DESCRIBE_ENUM(Filter, All, Open, Completed, Current, Queued, Blocked, WaitingForOperator,
                    Runnable)

struct ListArgs {
    std::optional<Filter> filter{};
    std::optional<std::int64_t> limit{};
    bool include_todo_list{false};
};
BOOST_DESCRIBE_STRUCT(ListArgs, (), (filter, limit, include_todo_list))
constexpr auto describe_fields(const ListArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"filter", "Which work items; all by default."},
         {"limit", "At most so many, newest change first; 20 by default, at most 100."},
         {.field = "include_todo_list",
          .text = "Show the checklists, too.",
          .keywords = R"("default":false)",
          .has_default = true}});
}
struct ListResult {
    json::object context;
    Filter filter{Filter::All};
    std::int64_t returned{0};
    std::int64_t total_matching{0};
    std::int64_t limit{0};
    std::vector<json::object> work_items{};
};
BOOST_DESCRIBE_STRUCT(ListResult, (),
                      (context, filter, returned, total_matching, limit, work_items))

json::object context_of(const Known& known) {
    json::object context;
    if (known.current) context["current_work_item_id"] = known.current->value;
    return context;
}

class GetWorkItem final : public WorkTool {
public:
    explicit GetWorkItem(Parts parts)
        : WorkTool(parts, spec_of("GetWorkItem", "Show one work item.", false,
                                  base::schema_of<GetArgs>(), base::schema_of<GetResult>())) {}

protected:
    Answered answer(const domain::ToolCall& call,
                    const tools::ExecutionContext& place) const override {
        const auto args = base::from_json<GetArgs>(call.args).value();
        const domain::WorkItemId id{std::string(base::trim(args.work_item_id))};
        const auto known = TRY(load(place, id));
        if (!known.item)
            return std::unexpected(
                refused(spec().name, *work::may_change(known.item, id, place.agent_id)));
        const auto plan = TRY(plan_of(place, id));
        return Answer{fmt::format("Work item {}", id),
                      {{"context", context_of(known)},
                       {"work_item", view_of(known, *known.item, plan, args.include_todo_list)}}};
    }
};

class ListWorkItems final : public WorkTool {
public:
    explicit ListWorkItems(Parts parts)
        : WorkTool(parts,
                   spec_of("ListWorkItems", "List your work items, newest change first.", false,
                           base::schema_of<ListArgs>(), base::schema_of<ListResult>())) {}

protected:
    Answered answer(const domain::ToolCall& call,
                    const tools::ExecutionContext& place) const override {
        const auto args = base::from_json<ListArgs>(call.args).value();
        const auto filter = args.filter.value_or(Filter::All);
        const auto limit = std::clamp<std::int64_t>(args.limit.value_or(kListDefault), 1, kListMax);
        const auto known = TRY(load(place, {}));
        json::array items;
        std::int64_t total = 0;
        const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
            items.clear();
            total = TRY(count(tx, place.agent_id, filter, known.current));
            for (const auto& item : TRY(select(tx, place.agent_id, filter, known.current, limit)))
                items.push_back(TRY(listed(tx, known, item, args.include_todo_list, place)));
            return {};
        });
        if (!status) return std::unexpected(failed(status.error()));
        return Answer{fmt::format("{} of {} work items", items.size(), total),
                      {{"context", context_of(known)},
                       {"filter", base::enum_name(filter)},
                       {"returned", items.size()},
                       {"total_matching", total},
                       {"limit", limit},
                       {"work_items", std::move(items)}}};
    }

private:
    using Current = std::optional<domain::WorkItemId>;

    static std::optional<domain::WorkReadiness> readiness_of_filter(Filter filter) {
        switch (filter) {
            case Filter::Completed:
                return domain::WorkReadiness::Completed;
            case Filter::Blocked:
                return domain::WorkReadiness::Blocked;
            case Filter::WaitingForOperator:
                return domain::WorkReadiness::WaitingForOperator;
            case Filter::Queued:
            case Filter::Runnable:
                return domain::WorkReadiness::Runnable;
            case Filter::All:
            case Filter::Open:
            case Filter::Current:
                return std::nullopt;
        }
        return std::nullopt;
    }

    // Queued and blocked are views of what is not the focus.
    static bool leaves_out_current(Filter filter) {
        return filter == Filter::Queued || filter == Filter::Blocked;
    }

    static base::Result<std::vector<WorkItem>> select(store::Tx& tx, const domain::AgentId& agent,
                                                      Filter filter, const Current& current,
                                                      std::int64_t limit) {
        if (filter == Filter::Current) {
            std::vector<WorkItem> list;
            if (current)
                if (auto item = TRY(tx.work_item(*current))) list.push_back(std::move(*item));
            return list;
        }
        auto list = TRY(tx.work_items(agent, {.readiness = readiness_of_filter(filter),
                                              .open_only = filter == Filter::Open,
                                              .limit = limit + 1}));
        if (leaves_out_current(filter) && current)
            std::erase_if(list, [&](const WorkItem& item) { return item.id == *current; });
        if (std::ssize(list) > limit) list.resize(static_cast<std::size_t>(limit));
        return list;
    }

    static base::Result<std::int64_t> count(store::Tx& tx, const domain::AgentId& agent,
                                            Filter filter, const Current& current) {
        const auto counts = TRY(tx.work_counts(agent));
        std::int64_t minus = 0;
        if (leaves_out_current(filter) && current)
            if (const auto item = TRY(tx.work_item(*current)))
                minus = domain::readiness_of(*item) == *readiness_of_filter(filter) ? 1 : 0;
        const auto open = counts.runnable + counts.waiting_for_operator + counts.blocked;
        switch (filter) {
            case Filter::All:
                return open + counts.completed;
            case Filter::Open:
                return open;
            case Filter::Completed:
                return counts.completed;
            case Filter::Current:
                return current ? 1 : 0;
            case Filter::Queued:
            case Filter::Runnable:
                return counts.runnable - minus;
            case Filter::Blocked:
                return counts.blocked - minus;
            case Filter::WaitingForOperator:
                return counts.waiting_for_operator;
        }
        return 0;
    }

    // One plan that cannot be read does not hide the list: that item shows what was stored of it.
    base::Result<json::value> listed(store::Tx& tx, const Known& known, const WorkItem& item,
                                     bool with_todos, const tools::ExecutionContext& place) const {
        Known each{.agent = known.agent,
                   .current = known.current,
                   .item = item,
                   .waits = TRY(tx.open_waits_of(item.id)),
                   .summary = TRY(tx.delivery_summary(item.id))};
        auto plan = plan_of(place, item.id);
        const auto shown =
            plan ? std::move(*plan) : item.plan_artifact.value_or(domain::PlanArtifact{});
        return json::value(view_of(each, item, shown, with_todos));
    }
};

}  // namespace

std::unique_ptr<tools::Tool> get_work_item(Parts parts) {
    return std::make_unique<GetWorkItem>(parts);
}

std::unique_ptr<tools::Tool> list_work_items(Parts parts) {
    return std::make_unique<ListWorkItems>(parts);
}

}  // namespace work_tools
