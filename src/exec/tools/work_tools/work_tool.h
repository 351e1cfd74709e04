// What the work item tools share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/work/views.h"
#include "base/os/lifetime.h"
#include "exec/tools/work_tools/work_tools.h"

namespace work_tools {

using domain::ToolError;
using domain::WorkItem;

// How a call ended: what the model reads, and what is to be changed.
struct Answer {
    std::string summary;
    json::object result;
    std::vector<tools::Mutation> mutations{};
};
using Answered = std::expected<Answer, ToolError>;

// An item as it is for one agent: with what is known of it besides its record.
struct Known {
    domain::Agent agent;
    std::optional<domain::WorkItemId> current{};  // The bound item if open, else the focus if open.
    std::optional<WorkItem> item{};
    std::vector<domain::Wait> waits{};
    std::optional<domain::DeliverySummary> summary{};
};

// A tool whose calls are answered on a background thread.
class WorkTool : public tools::Tool {
public:
    WorkTool(Parts parts, tools::ToolSpec spec) : parts_(parts), spec_(std::move(spec)) {}
    const tools::ToolSpec& spec() const final { return spec_; }
    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) final;

protected:
    // On a background thread. Changes nothing but the plan file of a new item.
    virtual Answered answer(const domain::ToolCall& call,
                            const tools::ExecutionContext& place) const = 0;

    // The agent and the item `id`, if it is the agent's; an empty id loads no item.
    std::expected<Known, ToolError> load(const tools::ExecutionContext& place,
                                         const domain::WorkItemId& id) const;
    // The same; an error when the item is unknown, foreign or completed.
    std::expected<Known, ToolError> load_open(const tools::ExecutionContext& place,
                                              const domain::WorkItemId& id) const;
    std::expected<domain::PlanArtifact, ToolError> plan_of(const tools::ExecutionContext& place,
                                                           const domain::WorkItemId& id) const;
    const Parts parts_;

private:
    const tools::ToolSpec spec_;
    base::Lifetime lifetime_;
};

ToolError failed(const base::Error& error);
ToolError refused(std::string_view tool, const work::Refusal& refusal);
json::object view_of(const Known& known, const WorkItem& item, const domain::PlanArtifact& plan,
                     bool with_todos);
// The whole result, for tools that are called to read it.
std::string render_document(const results::Envelope& envelope);
// What was done, in a few lines, and what the next call needs of it: state, plan file, warnings.
std::string render_confirmation(const results::Envelope& envelope);

// A spec with what these tools have in common. `writes`: it writes work items, and is confirmed in
// a few lines.
tools::ToolSpec spec_of(std::string_view name, std::string_view description, bool writes,
                        json::object input_schema, json::object output_schema);

struct ItemResult {
    json::object work_item;
    std::optional<std::vector<json::object>> warnings{};
};
BOOST_DESCRIBE_STRUCT(ItemResult, (), (work_item, warnings))

}  // namespace work_tools
