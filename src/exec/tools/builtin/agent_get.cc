#include "base/os/lifetime.h"
#include "exec/tools/builtin/builtin.h"

namespace builtin {
namespace {

struct AgentGetArgs {};
BOOST_DESCRIBE_STRUCT(AgentGetArgs, (), ())

struct AgentGetResult {
    json::object agent;
};
BOOST_DESCRIBE_STRUCT(AgentGetResult, (), (agent))

struct AgentGetOutput final : results::Output {
    json::object summary;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{"The agent as its operator sees it", {{"agent", summary}}};
    }
};

// The lines a model needs; the whole summary stays in the canonical record.
std::string render_agent(const results::Envelope& envelope) {
    const json::value& agent = envelope.result().at("agent");
    const auto at = [&](std::string_view pointer) {
        boost::system::error_code missing;
        const auto* value =
            agent.find_pointer(json::string_view(pointer.data(), pointer.size()), missing);
        if (!value || value->is_null()) return std::string("none");
        return value->is_string() ? std::string(std::string_view(value->get_string()))
                                  : base::json_text(*value);
    };
    std::string text = "Agent: " + at("/identity/agent_id");
    text += "\nStatus: " + at("/agent/status");
    text +=
        "\nClosure: " + at("/closure/outcome") + ", waiting for: " + at("/closure/waiting_reason");
    text += "\nPending messages: " + at("/agent/pending");
    text += "\nTurn: " + at("/agent/turn_index");
    text += "\nModel: " + at("/model/effective_model");
    text += "\nWorkspace: " + at("/execution/workspace_id") + ", root " +
            at("/execution/execution_root") + ", cwd " + at("/execution/cwd");
    text += "\nTokens: " + at("/token_usage/total/total_tokens") + " in " +
            at("/token_usage/total_model_rounds") + " rounds";
    const auto* children = base::find(agent, "active_children");
    if (!children || !children->is_array()) return text;
    for (const auto& child : children->get_array())
        text += fmt::format("\nChild: {}, {}", base::string_at(child.at("identity"), "agent_id"),
                            base::string_at(child.at("observability"), "phase"));
    return text;
}

tools::Outcome outcome_of(base::Result<json::object> summary) {
    tools::Outcome outcome{.completed = nullptr};
    if (summary) {
        auto output = std::make_unique<AgentGetOutput>();
        output->summary = std::move(*summary);
        outcome.completed = std::move(output);
    } else {
        outcome.completed = std::unexpected(domain::ToolError{.kind = "tool_execution_failed",
                                                              .message = summary.error().message,
                                                              .retryable = true});
    }
    return outcome;
}

using Summary = std::function<base::Result<json::object>(const domain::AgentId&)>;

class AgentGet final : public tools::Tool {
public:
    AgentGet(base::Loop& loop, Summary summary)
        : loop_(loop), summary_(std::make_shared<Summary>(std::move(summary))) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall&,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        base::run_in_background<json::object>(
            loop_, lifetime_,
            [summary = summary_, agent = place.agent_id] { return (*summary)(agent); },
            [done = std::move(done)](base::Result<json::object> summary) mutable {
                done(outcome_of(std::move(summary)));
            });
        return nullptr;
    }

private:
    base::Loop& loop_;
    const std::shared_ptr<Summary> summary_;
    const tools::ToolSpec spec_{
        .name = "AgentGet",
        .description = "Show your own status, workspace, model, pending input and token use.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::ReadOnly,
        .category = "agent",
        .repeatable = true,
        .input_schema = base::schema_of<AgentGetArgs>(),
        .output_schema = base::schema_of<AgentGetResult>(),
        .render = render_agent};
    base::Lifetime lifetime_;  // Last: it ends first.
};

}  // namespace

std::unique_ptr<tools::Tool> agent_get(
    base::Loop& loop, std::function<base::Result<json::object>(const domain::AgentId&)> summary) {
    return std::make_unique<AgentGet>(loop, std::move(summary));
}

}  // namespace builtin
