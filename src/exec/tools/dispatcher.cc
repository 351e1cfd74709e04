#include "exec/tools/dispatcher.h"

#include <cctype>

#include "base/scan/texts.h"
#include "base/text.h"
#include "exec/results/artifacts.h"
#include "exec/tools/policy/flow_policy.h"
#include "exec/tools/policy/policy.h"
#include "exec/tools/schema_check.h"

namespace tools {
namespace {

// Of the list of schema faults; its JSON then stays below results::kDetailsCharsMax.
constexpr std::size_t kParseErrorCharsMax = 400;

// "ExecCommand" -> "exec-command", the prefix of its artifacts.
std::string artifact_prefix(std::string_view tool) {
    std::string name = base::typed::snake_case(tool);
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
    return name;
}

// A success that is not what the tool promised is a fault of the tool, not a success.
results::Envelope held_to(const ToolSpec& spec, results::Envelope envelope) {
    if (!envelope.ok()) return envelope;
    const auto faults = check_schema(spec.output_schema, envelope.result());
    if (faults.empty()) return envelope;
    return results::Envelope::failure(
        spec.name, {.kind = "invalid_tool_output",
                    .message = fmt::format("{} returned a result that does not fit its own schema.",
                                           spec.name),
                    .details = json::object{{"tool_name", spec.name},
                                            {"place", faults.front().pointer},
                                            {"fault", faults.front().message}},
                    .recovery_hint = "Its side effects stand. Check the world; this is a fault of "
                                     "the tool, not of the call."});
}

// What is kept of a call that ran, without its times. A fault in the projection is a failed call
// and not a call without an end.
Dispatched dispatched_of(const domain::ToolCall& call, const ToolSpec& spec, Outcome outcome,
                         results::ArtifactSink& sink, const results::OutputPolicy& policy) {
    const auto projected = [&]() -> results::Envelope {
        try {
            return held_to(spec, results::project(call.tool, outcome.completed, sink, policy));
        } catch (const std::exception& error) {
            return results::Envelope::failure(
                call.tool, {.kind = "tool_execution_failed",
                            .message = fmt::format("The result of {} cannot be shown: {}",
                                                   spec.name, error.what())});
        }
    };
    auto envelope = projected();
    scan::remove_credentials_in(outcome.effects);
    scan::remove_credentials_in(outcome.seen);
    auto receipt = results::render(envelope, spec.render);
    auto result = result_of(call, envelope, outcome.status, std::move(outcome.effects));
    if (result.ok && spec.user_message && call.source == domain::CallSource::PlanStep)
        result.user_message = spec.user_message(envelope);
    return {.result = std::move(result),
            .envelope = std::move(envelope),
            .receipt = std::move(receipt),
            .mutations = std::move(outcome.mutations),
            .denials = std::move(outcome.denials),
            .seen = std::move(outcome.seen)};
}

// A call whose tool is done and whose result is on its way: there is nothing left to end.
struct Finishing final : Running {
    void cancel() override {}
};

}  // namespace

domain::ToolError invalid_input(std::string_view tool, std::string_view field, std::string message,
                                std::string hint) {
    json::object details{{"tool_name", tool}, {"validation_error", message}};
    if (!field.empty()) details["field"] = field;
    return {.kind = "invalid_tool_input",
            .message = std::move(message),
            .details = std::move(details),
            .recovery_hint = std::move(hint)};
}

Dispatcher::Dispatcher(DispatcherParts parts) : parts_(std::move(parts)) {}

domain::ToolCall Dispatcher::describe(Asked asked, const ExecutionContext& place) const {
    domain::ToolCall call{.call_id = std::move(asked.call_id),
                          .run_id = std::move(asked.run_id),
                          .step_id = std::move(asked.step_id),
                          .agent_id = place.agent_id,
                          .source = asked.source,
                          .tool = std::move(asked.tool),
                          .args = std::move(asked.args),
                          .created_at = parts_.clock.now(),
                          .executor_version = HOLON_VERSION,
                          .tool_registry_version = parts_.registry.version(),
                          .authority_class = asked.authority_class};
    call.args_hash = domain::args_hash(call.args);
    call.policy.sandbox.allowed_roots = {place.workspace.execution_root};
    if (const Tool* tool = parts_.registry.find(call.tool)) {
        call.risk_level = tool->spec().risk;
        call.category = tool->spec().category;
        call.cancellable = tool->spec().cancellable;
    }
    return call;
}

std::optional<domain::ToolError> Dispatcher::refuse(const domain::ToolCall& call,
                                                    domain::ProfilePreset profile) const {
    const Tool* tool = parts_.registry.find(call.tool);
    if (!tool || (tool->spec().plans_only && call.source == domain::CallSource::Turn)) {
        const std::string shown = shown_name(call.tool);
        std::vector<std::string> names;
        for (const auto* spec : parts_.registry.exposed(profile)) names.push_back(spec->name);
        const std::string near = base::nearest(shown, names);
        return domain::ToolError{
            .kind = "tool_not_exposed_for_round",
            .message = fmt::format("There is no tool named {} in this round.", shown),
            .details = json::object{{"tool_name", shown}},
            .recovery_hint =
                near.empty() ? "Use only the tools offered in this round."
                             : fmt::format("Did you mean {}? Use only the tools offered.", near)};
    }
    const ToolSpec& spec = tool->spec();
    if (!grants(profile, spec.family))
        return domain::ToolError{
            .kind = "unsupported_agent_profile_capability",
            .message = fmt::format("This agent's profile does not include {}.", spec.name),
            .details = json::object{{"tool_name", spec.name},
                                    {"required_family", base::enum_name(spec.family)},
                                    {"profile_preset", base::enum_name(profile)}},
            .recovery_hint = "Ask an agent whose profile has this family, or do without it."};
    const auto faults = check_schema(spec.input_schema, call.args);
    if (!faults.empty()) {
        if (auto explained = tool->explain(call.args)) return explained;
        std::string text;
        for (const auto& fault : faults)
            text += (text.empty() ? "" : "; ") +
                    (fault.pointer.empty() ? "" : fault.pointer + ": ") + fault.message;
        text = base::ellipsize(text, kParseErrorCharsMax);
        json::object details{{"tool_name", spec.name}, {"parse_error", text}};
        if (!faults.front().pointer.empty()) details["field"] = faults.front().pointer.substr(1);
        if (call.args.is_string())
            return domain::ToolError{
                .kind = "invalid_tool_input",
                .message = fmt::format("The arguments of {} are not valid JSON.", spec.name),
                .details = std::move(details),
                .recovery_hint = "Send the call again with one JSON object as its arguments."};
        return domain::ToolError{
            .kind = "invalid_tool_input",
            .message = fmt::format("The input does not fit {}'s schema: {}", spec.name, text),
            .details = std::move(details),
            .recovery_hint = "Send the input again exactly as the tool's schema describes it."};
    }
    return tool->check(call.args);
}

std::optional<domain::ToolError> Dispatcher::judge(const domain::ToolCall& call,
                                                   domain::ProfilePreset profile,
                                                   const ExecutionContext& place) const {
    if (auto error = refuse(call, profile)) return error;
    const Tool* tool = parts_.registry.find(call.tool);
    const auto risk = tool->spec().risk;
    // What leaves for a place that the call chooses cannot be taken back, like a change.
    const auto consequence =
        tool->sends_out(call.args) ? std::max(risk, domain::RiskLevel::Writes) : risk;
    if (auto error = flow_refusal(call, consequence, parts_.external_calls(place.agent_id)))
        return error;
    if (auto error = mark_refusal(call, consequence)) return error;
    if (!call.policy.sandbox.enabled) return policy_refusal(call, place.workspace.execution_root);
    return policy_refusal(call, place.workspace.execution_root, tool->paths(call.args, place));
}

bool Dispatcher::is_repeatable(const std::string& tool) const {
    const Tool* found = parts_.registry.find(tool);
    return !found || found->spec().repeatable;  // A call that is refused touches nothing.
}

bool Dispatcher::is_repeatable(const domain::ToolCall& call) const {
    if (parts_.registry.find(call.tool)) return is_repeatable(call.tool);
    return call.tool_registry_version == parts_.registry.version();
}

void Dispatcher::can_resume(const domain::ToolCall& call,
                            std::move_only_function<void(bool)> done) const {
    const Tool* found = parts_.registry.find(call.tool);
    if (!found) return done(false);
    found->can_resume(call, std::move(done));
}

std::shared_ptr<results::ArtifactSink> Dispatcher::sink_for(const domain::ToolCall& call,
                                                            const ExecutionContext& place) const {
    return std::make_shared<results::FileArtifacts>(place.agent_home / "tool-artifacts",
                                                    artifact_prefix(call.tool), parts_.ids);
}

void Dispatcher::recover(const domain::ToolCall& call, const ExecutionContext& place,
                         std::move_only_function<void(Recovered)> done) {
    Tool* tool = parts_.registry.find(call.tool);
    if (!tool) return done({});
    tool->recover(call, place,
                  [this, call, sink = sink_for(call, place),
                   done = std::move(done)](Recovery recovery) mutable {
                      if (recovery.how != Recovery::How::Made || !recovery.outcome)
                          return done({.how = recovery.how, .undo = std::move(recovery.undo)});
                      leave(call, parts_.clock.now(), std::move(*recovery.outcome), sink,
                            [done = std::move(done)](Dispatched dispatched) mutable {
                                done({.how = Recovery::How::Made, .made = std::move(dispatched)});
                            });
                  });
}

Dispatched Dispatcher::without_running(const domain::ToolCall& call, domain::ToolError error,
                                       domain::ResultStatus status) const {
    return tools::without_running(call, std::move(error), status, parts_.clock.now());
}

void Dispatcher::finish(const domain::ToolCall& call, base::Time started_at,
                        std::shared_ptr<Outcome> outcome,
                        std::shared_ptr<results::ArtifactSink> sink,
                        std::move_only_function<void(Dispatched)> done) const {
    auto projected = std::make_shared<std::optional<Dispatched>>();
    // The registry and its tools outlive every call.
    base::Job project = [projected, call, outcome = std::move(outcome), sink = std::move(sink),
                         &spec = parts_.registry.find(call.tool)->spec(), policy = parts_.output] {
        *projected = dispatched_of(call, spec, std::move(*outcome), *sink, policy);
    };
    base::Job deliver = [projected, started_at, &clock = parts_.clock,
                         done = std::move(done)]() mutable {
        auto& result = (*projected)->result;
        result.started_at = started_at;
        result.ended_at = clock.now();
        result.duration_ms = base::millis_between(started_at, result.ended_at);
        done(std::move(**projected));
    };
    if (parts_.loop) return parts_.loop->offload(std::move(project), std::move(deliver));
    project();
    deliver();
}

std::shared_ptr<Running> Dispatcher::propose(const domain::ToolCall& call,
                                             const ExecutionContext& place,
                                             std::move_only_function<void(Dispatched)> done) {
    if (!parts_.proposals || !parts_.loop) {
        done(without_running(call, not_proposed(call, "nobody here takes such questions"),
                             domain::ResultStatus::Error));
        return nullptr;
    }
    struct AwaitingApproval final : Running {
        base::Result<std::string> id;
        std::move_only_function<void(Dispatched)> done;
        void cancel() override {}  // Asked is asked; the answer is on its way.
    };
    auto asking = std::make_shared<AwaitingApproval>();
    asking->done = std::move(done);
    parts_.loop->offload(
        [asking, call, place, proposals = parts_.proposals] {
            asking->id = proposals->propose(call, place);
        },
        [this, asking, call] {
            auto error = asking->id ? proposed(call, *asking->id)
                                    : not_proposed(call, asking->id.error().message);
            asking->done(without_running(call, std::move(error), domain::ResultStatus::Error));
        });
    return asking;
}

std::shared_ptr<Running> Dispatcher::dispatch(const domain::ToolCall& call,
                                              domain::ProfilePreset profile,
                                              const ExecutionContext& place,
                                              std::move_only_function<void(Dispatched)> done) {
    if (auto error = judge(call, profile, place)) {
        if (error->kind == kNeedsApproval) return propose(call, place, std::move(done));
        done(without_running(call, std::move(*error), domain::ResultStatus::Error));
        return nullptr;
    }
    Tool* tool = parts_.registry.find(call.tool);
    auto sink = sink_for(call, place);
    const base::Time started_at = parts_.clock.now();
    // A call that finishes before start() returns may still have to pass the gate.
    auto over = std::make_shared<bool>(false);
    auto running = tool->start(
        call, place, *sink,
        [this, call, started_at, sink, over, done = std::move(done)](Outcome outcome) mutable {
            leave(call, started_at, std::move(outcome), sink,
                  [over, done = std::move(done)](Dispatched dispatched) mutable {
                      *over = true;
                      done(std::move(dispatched));
                  });
        });
    if (!running && !*over) return std::make_shared<Finishing>();
    return running;
}

void Dispatcher::leave(const domain::ToolCall& call, base::Time started_at, Outcome outcome,
                       std::shared_ptr<results::ArtifactSink> sink,
                       std::move_only_function<void(Dispatched)> done) const {
    const ToolSpec& spec = parts_.registry.find(call.tool)->spec();
    const Family family = spec.family;
    auto whole = std::make_shared<Outcome>(std::move(outcome));
    if (!parts_.gate ||
        parts_.gate->policy(call, family, spec.runs_behind) == domain::GatePolicy::Off)
        return finish(call, started_at, std::move(whole), std::move(sink), std::move(done));
    parts_.gate->judge(
        {call, family, started_at, whole, parts_.output, spec.runs_behind},
        [this, call, started_at, whole, sink = std::move(sink),
         done = std::move(done)](GateAnswer answer) mutable {
            auto marked = [mark = std::move(answer.mark),
                           done = std::move(done)](Dispatched dispatched) mutable {
                dispatched.result.gate = std::move(mark);
                done(std::move(dispatched));
            };
            if (answer.instead)
                return marked(withheld(call, started_at, *whole, std::move(*answer.instead)));
            finish(call, started_at, std::move(whole), std::move(sink), std::move(marked));
        });
}

Dispatched Dispatcher::withheld(const domain::ToolCall& call, base::Time started_at,
                                const Outcome& outcome, domain::ToolError instead) const {
    auto dispatched = without_running(call, std::move(instead), outcome.status);
    dispatched.result.effects = outcome.effects;
    scan::remove_credentials_in(dispatched.result.effects);
    dispatched.denials = outcome.denials;
    dispatched.seen = outcome.seen;
    scan::remove_credentials_in(dispatched.seen);
    dispatched.result.started_at = started_at;
    dispatched.result.duration_ms = base::millis_between(started_at, dispatched.result.ended_at);
    // What the call asked of the runtime stands, unless it depends on what the model has seen.
    for (const auto& mutation : outcome.mutations)
        if (!mutation.needs_visible_result()) dispatched.mutations.push_back(mutation);
    return dispatched;
}

}  // namespace tools
