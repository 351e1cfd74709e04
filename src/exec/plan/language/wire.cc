#include "exec/plan/language/wire.h"

#include <algorithm>

#include "base/typed.h"

namespace plan {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::string_view kEventNames[] = {"run.started",    "run.confirmationRequested",
                                            "run.confirmed",  "run.cancelled",
                                            "step.scheduled", "step.started",
                                            "step.progress",  "step.finished",
                                            "step.failed",    "run.finished"};
constexpr std::string_view kLevels[] = {"info", "warn", "error"};
constexpr std::string_view kUnseen = "unknown";
constexpr std::string_view kAgent = "plan";

std::string camel(std::string_view snake) {
    std::string out;
    bool upper = false;
    for (const char c : snake) {
        if (c == '_') {
            upper = true;
        } else {
            out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
            upper = false;
        }
    }
    return out;
}

std::string snake(std::string_view camel) {
    std::string out;
    for (const char c : camel) {
        if (std::isupper(static_cast<unsigned char>(c)) != 0) out += '_';
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
}

template <class Rename>
json::value renamed(const json::value& value, Rename rename) {
    if (const auto* array = value.if_array()) {
        json::array out;
        for (const auto& item : *array) out.push_back(renamed(item, rename));
        return out;
    }
    const auto* object = value.if_object();
    if (!object) return value;
    json::object out;
    for (const auto& member : *object)
        out.emplace(rename(std::string_view(member.key())), renamed(member.value(), rename));
    return out;
}

json::array texts(const std::vector<std::string>& list) {
    json::array out;
    for (const auto& text : list) out.emplace_back(text);
    return out;
}

void put(json::object& out, std::string_view name, const std::optional<std::int64_t>& value) {
    if (value) out.emplace(name, *value);
}
void put(json::object& out, std::string_view name, const std::optional<std::string>& value) {
    if (value) out.emplace(name, *value);
}
void put(json::object& out, std::string_view name, const std::optional<base::Time>& value) {
    if (value) out.emplace(name, base::to_text(*value));
}

// What kinds of changes were seen, in words.
json::array observed(const domain::Effects& effects) {
    json::array seen;
    const auto add = [&](std::string_view verb, domain::PathKind kind) {
        const json::value word(fmt::format("{}-{}", verb, base::enum_name(kind)));
        if (std::ranges::find(seen, word) == seen.end()) seen.push_back(word);
    };
    if (!effects.observed) seen.emplace_back(kUnseen);
    for (const auto& one : effects.created) add("create", one.kind);
    for (const auto& one : effects.modified) add("modify", one.kind);
    for (const auto& one : effects.deleted) add("delete", one.kind);
    if (!effects.renamed.empty()) seen.emplace_back("rename");
    if (seen.empty() && effects.side_effects_observed) seen.emplace_back("other");
    return seen;
}

json::object effects_json(const domain::Effects& effects) {
    json::object out{{"sideEffectsObserved", observed(effects)}};
    if (!effects.created.empty()) {
        auto& list = out["created"].emplace_array();
        for (const auto& one : effects.created)
            list.push_back({{"path", one.path}, {"kind", base::enum_name(one.kind)}});
    }
    if (!effects.modified.empty()) {
        auto& list = out["modified"].emplace_array();
        for (const auto& one : effects.modified)
            list.push_back({{"path", one.path},
                            {"kind", base::enum_name(one.kind)},
                            {"beforeEtag", one.before_etag},
                            {"afterEtag", one.after_etag}});
    }
    if (!effects.deleted.empty()) {
        auto& list = out["deleted"].emplace_array();
        for (const auto& one : effects.deleted)
            list.push_back({{"path", one.path},
                            {"kind", base::enum_name(one.kind)},
                            {"trashed", one.trashed}});
    }
    if (!effects.renamed.empty()) {
        auto& list = out["renamed"].emplace_array();
        for (const auto& one : effects.renamed)
            list.push_back({{"from", one.from}, {"to", one.to}});
    }
    return out;
}

// Records of ours in camelCase come back through the typed decoder; `verbatim` members hold other
// people's JSON and keep their spelling.
template <class T>
base::Result<T> from_camel(const json::value& value,
                           std::initializer_list<std::string_view> verbatim,
                           base::Unknown unknown = base::Unknown::Ignore) {
    const auto* object = value.if_object();
    if (!object) return fail(ErrorCode::InvalidInput, "expected an object");
    json::object out;
    for (const auto& member : *object) {
        const std::string_view name = member.key();
        const bool keep = std::ranges::find(verbatim, name) != verbatim.end();
        out.emplace(snake(name), keep ? member.value() : snake_case(member.value()));
    }
    return base::from_json<T>(out, unknown);
}

// The wire spells risks with a hyphen; the typed decoder does not.
json::value with_snake_risks(const json::value& value) {
    json::value out = value;
    auto* object = out.if_object();
    if (!object) return out;
    for (const std::string_view name : {"riskLevel", "maxRiskLevel"})
        if (auto* risk = object->if_contains(name); risk && *risk == "read-only")
            *risk = "read_only";
    if (auto* policy = object->if_contains("policy")) *policy = with_snake_risks(*policy);
    return out;
}

// No limit is below 1, but for a wait and a number of items that may be none.
base::Status check_limits(const json::object& limits) {
    for (const auto& limit : limits) {
        const std::int64_t least =
            limit.key() == "maxBackoffMs" || limit.key() == "maxForeachItems" ? 0 : 1;
        if (limit.value().to_number<std::int64_t>() < least)
            return fail(ErrorCode::InvalidInput,
                        "the policy: /limits/{} must be at least {}, got {}",
                        std::string_view(limit.key()), least, base::json_text(limit.value()));
    }
    return {};
}

}  // namespace

std::string_view event_name(EventType type) {
    return kEventNames[static_cast<std::size_t>(type)];
}

json::value camel_case(const json::value& value) {
    return renamed(value, camel);
}
json::value snake_case(const json::value& value) {
    return renamed(value, snake);
}

json::object policy_json(const domain::PolicySnapshot& policy) {
    json::object limits{{"maxConcurrency", policy.limits.max_concurrency}};
    put(limits, "maxAttempts", policy.limits.max_attempts);
    put(limits, "maxBackoffMs", policy.limits.max_backoff_ms);
    put(limits, "stepTimeoutMs", policy.limits.step_timeout_ms);
    put(limits, "runTimeoutMs", policy.limits.run_timeout_ms);
    put(limits, "maxForeachItems", policy.limits.max_foreach_items);
    put(limits, "maxCalls", policy.limits.max_calls);
    json::object out{{"confirmationsRequired", policy.confirmations_required},
                     {"sandbox",
                      {{"enabled", policy.sandbox.enabled},
                       {"allowedRoots", texts(policy.sandbox.allowed_roots)},
                       {"denyPatterns", texts(policy.sandbox.deny_patterns)}}},
                     {"limits", std::move(limits)}};
    if (policy.max_risk_level) out.emplace("maxRiskLevel", risk_name(*policy.max_risk_level));
    return out;
}

json::object call_json(const domain::ToolCall& call) {
    json::object out{{"callId", call.call_id.value}, {"runId", call.run_id.value},
                     {"stepId", call.step_id},       {"tool", call.tool},
                     {"attempt", call.attempt},      {"args", call.args},
                     {"argsHash", call.args_hash}};
    put(out, "timeoutMs", call.timeout_ms);
    put(out, "deadlineAt", call.deadline_at);
    out.emplace("cancellable", call.cancellable);
    if (call.iteration)
        out.emplace("iteration", json::object{{"index", call.iteration->index},
                                              {"itemName", call.iteration->item_name},
                                              {"itemValue", call.iteration->item_value}});
    put(out, "loopId", call.loop_id);
    put(out, "idempotencyKey", call.idempotency_key);
    out.emplace("createdAt", base::to_text(call.created_at));
    put(out, "plannerVersion", call.planner_version);
    out.emplace("executorVersion", call.executor_version);
    out.emplace("toolRegistryVersion", call.tool_registry_version);
    put(out, "preview", call.preview);
    out.emplace("riskLevel", risk_name(call.risk_level));
    put(out, "category", call.category);
    out.emplace("policy", policy_json(call.policy));
    put(out, "confirmationId", call.confirmation_id);
    return out;
}

json::object result_json(const domain::ToolResult& result) {
    json::object out{{"callId", result.call_id.value},
                     {"runId", result.run_id.value},
                     {"stepId", result.step_id},
                     {"tool", result.tool},
                     {"attempt", result.attempt},
                     {"status", base::enum_name(result.status)},
                     {"ok", result.ok}};
    if (result.data) out.emplace("data", *result.data);
    put(out, "dataHash", result.data_hash);
    if (result.error) {
        json::object error{{"code", result.error->code}, {"message", result.error->message}};
        if (result.error->details) error.emplace("details", *result.error->details);
        if (result.error->retryable) error.emplace("retryable", *result.error->retryable);
        out.emplace("error", std::move(error));
    }
    out.emplace("startedAt", base::to_text(result.started_at));
    out.emplace("endedAt", base::to_text(result.ended_at));
    out.emplace("durationMs", result.duration_ms);
    out.emplace("effects", effects_json(result.effects));
    out.emplace("userMessage", result.user_message);
    out.emplace("debugMessage", result.debug_message);
    return out;
}

json::object event_json(const domain::RunId& run, const RunEvent& event) {
    json::object out{{"type", event_name(event.type)},
                     {"runId", run.value},
                     {"timestamp", base::to_text(event.timestamp)},
                     {"level", kLevels[static_cast<std::size_t>(event.level)]},
                     {"message", event.message}};
    if (!event.call_id.empty()) out.emplace("callId", event.call_id.value);
    if (!event.step_id.empty()) out.emplace("stepId", event.step_id);
    if (!event.tool.empty()) out.emplace("tool", event.tool);
    if (!event.payload.empty()) out.emplace("payload", event.payload);
    return out;
}

json::object approval_json(const domain::PlanApproval& approval) {
    return camel_case(base::to_json(approval)).get_object();
}

json::object run_json(const domain::PlanRun& run) {
    const auto record = base::to_json(run);
    json::object out;
    for (const auto& member : record.get_object()) {
        const std::string_view name = member.key();
        if (name == "context" || name == "params")
            out.emplace(name, member.value());
        else if (name == "policy")
            out.emplace(name, policy_json(run.policy));
        else if (name == "risk_level")
            out.emplace("riskLevel", risk_name(run.risk_level));
        else if (name == "approval")
            out.emplace("confirmation", camel_case(member.value()));
        else
            out.emplace(camel(name), camel_case(member.value()));
    }
    return out;
}

base::Result<domain::ToolCall> call_from(const json::value& value) {
    auto shape = with_snake_risks(value);
    if (!shape.is_object()) return fail(ErrorCode::InvalidInput, "expected an object");
    // What the plan surface does not have.
    auto& members = shape.get_object();
    members["agentId"] = kAgent;
    members["source"] = base::enum_name(domain::CallSource::PlanStep);
    members["authorityClass"] = base::enum_name(domain::AuthorityClass::OperatorInstruction);
    members.erase("iteration");
    auto call = TRY(from_camel<domain::ToolCall>(shape, {"args"}));
    if (const auto* iteration = base::find(value, "iteration"))
        call.iteration = TRY(from_camel<domain::Iteration>(*iteration, {"itemValue"}));
    return call;
}

base::Result<domain::ToolResult> result_from(const json::value& value) {
    if (!value.is_object()) return fail(ErrorCode::InvalidInput, "expected an object");
    json::value shape = value;
    const auto* effects = base::find(value, "effects");
    json::array seen;
    if (effects)
        if (const auto* list = base::find(*effects, "sideEffectsObserved");
            list && list->is_array())
            seen = list->get_array();
    const bool unseen = std::ranges::find(seen, json::value(kUnseen)) != seen.end();
    if (auto* object = shape.get_object().if_contains("effects"); object && object->is_object()) {
        object->get_object().erase("sideEffectsObserved");
        object->get_object()["observed"] = !unseen;
        object->get_object()["sideEffectsObserved"] = seen.size() > (unseen ? 1u : 0u);
    }
    auto result = TRY(from_camel<domain::ToolResult>(shape, {"data", "error"}));
    if (result.ok != (result.status == domain::ResultStatus::Ok))
        return fail(ErrorCode::InvalidInput, "ok and status contradict each other");
    if (!result.ok && !result.error && result.status != domain::ResultStatus::Skipped)
        return fail(ErrorCode::InvalidInput, "it failed without an error");
    return result;
}

base::Result<RunEvent> event_from(const json::value& value) {
    RunEvent event;
    const auto type = std::ranges::find(kEventNames, base::string_at(value, "type"));
    const auto level = std::ranges::find(kLevels, base::string_at(value, "level"));
    if (type == std::end(kEventNames) || level == std::end(kLevels))
        return fail(ErrorCode::InvalidInput, "an event of no known type or level");
    event.type = static_cast<EventType>(type - std::begin(kEventNames));
    event.level = static_cast<EventLevel>(level - std::begin(kLevels));
    event.timestamp = TRY(base::parse_time(base::string_at(value, "timestamp")));
    event.message = base::string_at(value, "message");
    event.call_id = {base::string_at(value, "callId")};
    event.step_id = base::string_at(value, "stepId");
    event.tool = base::string_at(value, "tool");
    if (const auto* payload = base::find(value, "payload"); payload && payload->is_object())
        event.payload = payload->get_object();
    return event;
}

base::Result<domain::PlanApproval> approval_from(const json::value& value) {
    return from_camel<domain::PlanApproval>(value, {});
}

base::Result<domain::PolicySnapshot> policy_from(const json::value& value,
                                                 const domain::PolicySnapshot& over) {
    json::value whole = policy_json(over);
    // Members that are given take the place of those that are there, one level down as well.
    if (!value.is_object()) return fail(ErrorCode::InvalidInput, "a policy is an object");
    for (const auto& member : value.get_object()) {
        auto& slot = whole.get_object()[member.key()];
        if (slot.is_object() && member.value().is_object())
            for (const auto& inner : member.value().get_object())
                slot.get_object()[inner.key()] = inner.value();
        else
            slot = member.value();
    }
    auto policy =
        from_camel<domain::PolicySnapshot>(with_snake_risks(whole), {}, base::Unknown::Reject);
    if (!policy)
        return fail(ErrorCode::InvalidInput, "the policy: {}", camel(policy.error().message));
    TRY(check_limits(policy_json(*policy).at("limits").get_object()));
    return policy;
}

base::Result<domain::PlanRun> run_from(const json::value& value) {
    auto shape = with_snake_risks(value);
    if (!shape.is_object()) return fail(ErrorCode::InvalidInput, "expected an object");
    if (const auto* confirmation = shape.get_object().if_contains("confirmation")) {
        json::value approval = *confirmation;
        shape.get_object()["approval"] = std::move(approval);
    }
    shape.get_object().erase("plan");
    return from_camel<domain::PlanRun>(shape, {"context", "params"});
}

}  // namespace plan
