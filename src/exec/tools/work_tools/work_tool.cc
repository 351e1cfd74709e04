#include "exec/tools/work_tools/work_tool.h"

#include "agent/work/plan_file.h"

namespace work_tools {
namespace {

struct WorkOutput final : results::Output {
    Answer answer;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{answer.summary, answer.result};
    }
};

tools::Outcome outcome_of(Answered answered) {
    tools::Outcome outcome{.completed = nullptr};
    if (!answered) {
        outcome.completed = std::unexpected(std::move(answered).error());
        return outcome;
    }
    outcome.mutations = answered->mutations;
    auto output = std::make_unique<WorkOutput>();
    output->answer = std::move(*answered);
    outcome.completed = std::move(output);
    return outcome;
}

}  // namespace

std::shared_ptr<tools::Running> WorkTool::start(const domain::ToolCall& call,
                                                const tools::ExecutionContext& place,
                                                results::ArtifactSink&, tools::Done done) {
    // A plan's run has no turn whose commit could make the change.
    if (spec_.changes_records && call.source != domain::CallSource::Turn) {
        done({.completed = std::unexpected(
                  ToolError{.kind = "unsupported_runtime_capability",
                            .message = "Work items are changed in a turn of their agent only.",
                            .recovery_hint = "Use holon work instead."})});
        return nullptr;
    }
    auto answered = std::make_shared<std::optional<Answered>>();
    parts_.loop.offload([this, answered, call, place] { answered->emplace(answer(call, place)); },
                        lifetime_.guard([answered, done = std::move(done)]() mutable {
                            done(outcome_of(std::move(**answered)));
                        }));
    return nullptr;
}

std::expected<Known, ToolError> WorkTool::load(const tools::ExecutionContext& place,
                                               const domain::WorkItemId& id) const {
    Known known;
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        auto agent = TRY(tx.agent(place.agent_id));
        if (!agent)
            return base::fail(base::ErrorCode::NotFound, "there is no agent {}", place.agent_id);
        known.agent = std::move(*agent);
        const auto open = TRY(tx.open_attempt_of(place.agent_id));
        for (const auto& candidate :
             {open ? open->work_item_id : std::nullopt, known.agent.current_work_item_id}) {
            if (known.current || !candidate) continue;
            const auto item = TRY(tx.work_item(*candidate));
            if (item && item->state == domain::WorkItemState::Open) known.current = candidate;
        }
        if (id.empty()) return {};
        known.item = TRY(tx.work_item(id));
        if (known.item && known.item->agent_id != place.agent_id) known.item.reset();
        if (!known.item) return {};
        known.waits = TRY(tx.open_waits_of(id));
        known.summary = TRY(tx.delivery_summary(id));
        return {};
    });
    if (!status) return std::unexpected(failed(status.error()));
    return known;
}

std::expected<Known, ToolError> WorkTool::load_open(const tools::ExecutionContext& place,
                                                    const domain::WorkItemId& id) const {
    auto known = load(place, id);
    if (!known) return known;
    if (const auto refusal = work::may_change(known->item, id, place.agent_id))
        return std::unexpected(refused(spec_.name, *refusal));
    return known;
}

std::expected<domain::PlanArtifact, ToolError> WorkTool::plan_of(
    const tools::ExecutionContext& place, const domain::WorkItemId& id) const {
    auto plan = work::read_plan(place.agent_home, place.agent_id, id);
    if (plan) return std::move(*plan);
    return std::unexpected(ToolError{
        .kind = "plan_artifact_unreadable",
        .message = plan.error().message,
        .details = json::object{{"work_item_id", id.value}, {"relative_path", work::plan_path(id)}},
        .recovery_hint = "Make the plan a regular file again, or remove what is there."});
}

ToolError failed(const base::Error& error) {
    return {.kind = "tool_execution_failed", .message = error.message};
}

ToolError refused(std::string_view tool, const work::Refusal& refusal) {
    if (refusal.code == base::ErrorCode::InvalidInput)
        return tools::invalid_input(tool, refusal.field, refusal.message,
                                    "Send a value within the limit.");
    return {
        .kind = refusal.code == base::ErrorCode::NotFound ? refusal.kind : "tool_execution_failed",
        .message = refusal.message,
        .recovery_hint = "ListWorkItems shows the work items there are."};
}

json::object view_of(const Known& known, const WorkItem& item, const domain::PlanArtifact& plan,
                     bool with_todos) {
    return work::view({.item = item,
                       .is_current = known.current == item.id,
                       .with_todos = with_todos,
                       .waits = known.waits,
                       .plan_artifact = plan,
                       .delivery_summary = known.summary});
}

std::string render_document(const results::Envelope& envelope) {
    return base::json_text(json::object{{"tool_name", envelope.tool_name()},
                                        {"status", "success"},
                                        {"summary_text", envelope.summary_text()},
                                        {"result", envelope.result()}});
}

namespace {

void add_line(std::string& text, std::string_view label, std::string_view value) {
    if (!value.empty()) text += fmt::format("\n{}: {}", label, value);
}

void add_warnings(std::string& text, const json::value& holder) {
    const auto* warnings = base::find(holder, "warnings");
    if (!warnings || !warnings->is_array()) return;
    for (const auto& warning : warnings->get_array())
        add_line(text, "Warning", base::string_at(warning, "message"));
}

}  // namespace

std::string render_confirmation(const results::Envelope& envelope) {
    const json::value result = envelope.result();
    std::string text = envelope.summary_text();
    const auto* item = base::find(result, "work_item");
    if (!item) item = base::find(result, "current_work_item");
    if (item) {
        add_line(text, "State", base::string_at(*item, "state"));
        add_line(text, "Readiness", base::string_at(*item, "readiness"));
        add_line(text, "Plan status", base::string_at(*item, "plan_status"));
        if (const auto* plan = base::find(*item, "plan_artifact"))
            add_line(text, "Plan file", base::string_at(*plan, "path"));
        add_line(text, "Recheck at", base::string_at(*item, "recheck_at"));
    }
    if (const auto* moved = base::find(result, "transition")) {
        add_line(text, "Previous work item", base::string_at(*moved, "previous_work_item_id"));
        add_warnings(text, *moved);
    }
    add_warnings(text, result);
    return text;
}

tools::ToolSpec spec_of(std::string_view name, std::string_view description, bool writes,
                        json::object input_schema, json::object output_schema) {
    return {.name = std::string(name),
            .description = std::string(description),
            .family = tools::Family::CoreAgent,
            .risk = domain::RiskLevel::ReadOnly,
            .category = "work",
            .repeatable = true,
            .changes_records = writes,
            .writes_work_items = writes,
            .input_schema = std::move(input_schema),
            .output_schema = std::move(output_schema),
            .render = writes ? render_confirmation : render_document};
}

void add_all(tools::Registry& registry, Parts parts) {
    registry.add(create_work_item(parts));
    registry.add(pick_work_item(parts));
    registry.add(get_work_item(parts));
    registry.add(list_work_items(parts));
    registry.add(update_work_item(parts));
    registry.add(complete_work_item(parts));
}

}  // namespace work_tools
