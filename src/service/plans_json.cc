#include "service/plans_json.h"

#include "exec/plan/language/wire.h"

namespace service {
namespace {

std::string camel(std::string_view name) {
    std::string out;
    bool upper = false;
    for (const char c : name) {
        if (c != '_') out += upper ? static_cast<char>(std::toupper(c)) : c;
        upper = c == '_';
    }
    return out;
}

std::string snake(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c >= 'A' && c <= 'Z') out += '_';
        out += static_cast<char>(std::tolower(c));
    }
    return out;
}

json::object renamed(const json::value& value, std::string (*rename)(std::string_view)) {
    json::object out;
    if (const auto* object = value.if_object())
        for (const auto& member : *object) out.emplace(rename(member.key()), member.value());
    return out;
}

// As runs are written: see plan::run_json.
std::string shown_name(std::string_view name) {
    return name == "approval" ? "confirmation" : camel(name);
}

void rename_properties(json::value& schema) {
    if (auto* list = schema.if_array()) {
        for (auto& one : *list) rename_properties(one);
        return;
    }
    if (schema.is_string() && schema.get_string() == "read_only") schema = "read-only";
    auto* object = schema.if_object();
    if (!object) return;
    for (auto& member : *object) rename_properties(member.value());
    if (auto* properties = object->if_contains("properties"))
        *properties = renamed(*properties, shown_name);
    auto* required = object->if_contains("required");
    if (required && required->is_array())
        for (auto& name : required->get_array())
            if (name.is_string()) name = camel(name.get_string());
}

// A member that is a run, decoded and taken out of `shown`.
base::Result<std::optional<domain::PlanRun>> take_run(json::object& shown) {
    const auto* run = shown.if_contains("run");
    if (!run || run->is_null()) return std::nullopt;
    auto decoded = TRY(plan::run_from(*run));
    shown.erase("run");
    return decoded;
}

template <class T>
json::object with_run(T value) {
    const auto run = std::exchange(value.run, std::nullopt);
    auto out = camel_members(base::to_json(value));
    if (run) out["run"] = plan_json(*run);
    return out;
}

template <class T>
base::Result<T> from_with_run(const json::value& value, base::Unknown unknown) {
    json::object members = snake_members(value);
    auto run = TRY(take_run(members));
    auto out = TRY(base::from_json<T>(members, unknown));
    out.run = std::move(run);
    return out;
}

}  // namespace

json::object camel_members(const json::value& record) {
    return renamed(record, camel);
}

json::object snake_members(const json::value& shown) {
    return renamed(shown, snake);
}

json::object camel_schema(json::object schema) {
    json::value value(std::move(schema));
    rename_properties(value);
    return std::move(value.get_object());
}

json::object plan_json(const domain::PlanRun& run) {
    return plan::run_json(run);
}

json::object plan_json(const PlanCreated& created) {
    return with_run(created);
}

json::object plan_json(const PlanReverted& reverted) {
    return with_run(reverted);
}

template <>
base::Result<domain::PlanRun> plan_from(const json::value& value, base::Unknown) {
    return plan::run_from(value);
}

template <>
base::Result<PlanCreated> plan_from(const json::value& value, base::Unknown unknown) {
    return from_with_run<PlanCreated>(value, unknown);
}

template <>
base::Result<PlanReverted> plan_from(const json::value& value, base::Unknown unknown) {
    return from_with_run<PlanReverted>(value, unknown);
}

}  // namespace service
