#include "exec/tools/mcp/tool.h"

#include <algorithm>

#include "exec/tools/mcp/output.h"
#include "exec/tools/schema_check.h"

namespace mcp {
namespace {

class McpTool final : public tools::Tool {
public:
    McpTool(Session& session, const Offer& offer, Refusal refusal)
        : session_(session),
          remote_name_(offer.remote_name),
          structure_(offer.output_schema),
          asks_(offer.asks),
          spec_{.name = offer.name,
                .description = offer.description,
                .family = tools::Family::LocalEnvironment,
                .risk = session.server().risk,
                .category = "mcp",
                .runs_behind = session.server().url.empty() ? tools::RunsBehind::SharedBoundary
                                                            : tools::RunsBehind::Nothing,
                .repeatable = session.server().risk == domain::RiskLevel::ReadOnly,
                .input_schema = offer.input_schema,
                .output_schema = base::schema_of<CallResult>(),
                .render = render},
          refusal_(std::move(refusal)) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        if (auto refused = refusal_ ? refusal_(place.agent_id) : std::nullopt) {
            done({.completed = std::unexpected(std::move(*refused))});
            return nullptr;
        }
        const std::int64_t own = session_.server().timeout_ms;
        const std::chrono::milliseconds timeout(std::min(call.timeout_ms.value_or(own), own));
        return session_.call(std::string(method()), params(call.args), timeout,
                             [this, &sink, done = std::move(done)](Session::Answer answer) mutable {
                                 done(outcome(std::move(answer), sink));
                             });
    }

private:
    std::string_view method() const {
        switch (asks_) {
            case Asks::Tool:
                return "tools/call";
            case Asks::ResourceList:
                return "resources/list";
            case Asks::Resource:
                return "resources/read";
        }
        return "";
    }

    json::object params(const json::value& args) const {
        if (asks_ != Asks::Tool) return without_nulls(args);
        return {{"name", remote_name_}, {"arguments", without_nulls(args)}};
    }

    // Models write null for what they leave out, and our schemas take it so; servers may not.
    json::object without_nulls(const json::value& args) const {
        json::object sent;
        if (!args.is_object()) return sent;
        const auto* properties = base::find(spec_.input_schema, "properties");
        for (const auto& member : args.get_object()) {
            const auto* property = base::find(*properties, member.key());
            const bool is_absent = member.value().is_null() && property && property->is_object() &&
                                   !tools::check_schema(property->get_object(), nullptr).empty();
            if (!is_absent) sent[member.key()] = member.value();
        }
        return sent;
    }

    tools::Outcome outcome(Session::Answer answer, results::ArtifactSink& sink) const {
        const std::string& server = session_.server().name;
        // The changes of the server were not observed.
        const domain::Effects effects{.observed = false};
        if (answer) {
            if (auto error = structure_fault(*answer))
                return {.completed = std::unexpected(std::move(*error)), .effects = effects};
            if (asks_ == Asks::ResourceList) answer = listed_resources(*answer);
            if (asks_ == Asks::Resource) answer = read_resource(*answer);
            return {.completed = completed(server, remote_name_, std::move(*answer), sink),
                    .effects = effects};
        }
        return {.completed = std::unexpected(error_for(answer.error(), server, remote_name_)),
                .status = status_for(answer.error()),
                .effects = effects};
    }

    // Structured content that is not what the tool promises is no result.
    std::optional<domain::ToolError> structure_fault(const json::object& result) const {
        const auto* content = base::find(result, "structuredContent");
        if (!structure_ || !content || base::bool_at(json::value(result), "isError"))
            return std::nullopt;
        const auto faults = tools::check_schema(*structure_, *content);
        if (faults.empty()) return std::nullopt;
        return domain::ToolError{
            .kind = "mcp_invalid_output",
            .message =
                fmt::format("The result of the MCP server {} is not what its tool promises: "
                            "{} {}",
                            session_.server().name, faults.front().pointer, faults.front().message),
            .recovery_hint = "The call was made. Check the world before you make it again."};
    }

    Session& session_;
    const std::string remote_name_;
    const std::optional<json::object> structure_;
    const Asks asks_;
    const tools::ToolSpec spec_;
    const Refusal refusal_;
};

}  // namespace

std::unique_ptr<tools::Tool> tool(Session& session, const Offer& offer, Refusal refusal) {
    return std::make_unique<McpTool>(session, offer, std::move(refusal));
}

}  // namespace mcp
