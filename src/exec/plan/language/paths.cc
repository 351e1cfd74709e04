#include "exec/plan/language/paths.h"

#include <algorithm>
#include <cctype>
#include <variant>

#include "base/text.h"

namespace plan {
namespace {

bool is_index(std::string_view name) {
    return !name.empty() &&
           std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c); });
}

bool is_any_of(const json::value& types, std::string_view wanted) {
    const auto* list = types.if_array();
    if (!list) return types.is_string() && std::string_view(types.get_string()) == wanted;
    return std::ranges::any_of(*list, [&](const json::value& type) {
        return type.is_string() && std::string_view(type.get_string()) == wanted;
    });
}

std::vector<std::string> names_in(const json::object& properties) {
    std::vector<std::string> names;
    for (const auto& member : properties) names.emplace_back(std::string_view(member.key()));
    return names;
}

// The next schema; nothing is known of it; or there is none.
struct Anything {};
using Next = std::variant<json::object, Anything, Nowhere>;

Next into(const json::object& schema, const std::string& name, const std::string& walked) {
    for (const std::string_view choice : {"anyOf", "oneOf", "allOf", "$ref"})
        if (schema.contains(choice)) return Anything{};
    if (!schema.contains("type")) return Anything{};
    if (may_be(schema, "array")) {
        if (!is_index(name))
            return Nowhere{
                fmt::format("{} is a list and has no '{}'", walked, name),
                fmt::format("Name one of its items: {}[0].{}; or loop over it.", walked, name)};
        const auto* items = schema.if_contains("items");
        if (!items || !items->is_object()) return Anything{};
        return items->get_object();
    }
    if (!may_be(schema, "object"))
        return Nowhere{fmt::format("{} is no object and has no '{}'", walked, name),
                       fmt::format("Use {} itself.", walked)};
    const auto* properties = schema.if_contains("properties");
    if (properties && properties->is_object()) {
        const auto* found = properties->get_object().if_contains(name);
        if (found && found->is_object()) return found->get_object();
    }
    const auto* others = schema.if_contains("additionalProperties");
    if (others && others->is_object()) return others->get_object();
    if (!others || *others != json::value(false)) return Anything{};
    const auto names = properties && properties->is_object() ? names_in(properties->get_object())
                                                             : std::vector<std::string>();
    const std::string near = base::nearest(name, names);
    return Nowhere{fmt::format("{} has no '{}'", walked, name),
                   near.empty() ? fmt::format("It has {}.", fmt::join(names, ", "))
                                : fmt::format("Did you mean {}?", near)};
}

Next walk(const json::object& schema, const std::vector<std::string>& path, std::string_view name) {
    json::object at = schema;
    std::string walked(name);
    for (const auto& part : path) {
        auto next = into(at, part, walked);
        auto* found = std::get_if<json::object>(&next);
        if (!found) return next;
        at = std::move(*found);
        walked += is_index(part) ? "[" + part + "]" : "." + part;
    }
    return at;
}

}  // namespace

bool may_be(const json::object& schema, std::string_view type) {
    const auto* types = schema.if_contains("type");
    return !types || is_any_of(*types, type);
}

std::optional<Nowhere> leads_nowhere(const json::object& schema,
                                     const std::vector<std::string>& path, std::string_view name) {
    auto end = walk(schema, path, name);
    if (auto* nowhere = std::get_if<Nowhere>(&end)) return std::move(*nowhere);
    return std::nullopt;
}

std::optional<json::object> part_of(const json::object& schema,
                                    const std::vector<std::string>& path) {
    auto end = walk(schema, path, "");
    if (auto* found = std::get_if<json::object>(&end)) return std::move(*found);
    return std::nullopt;
}

}  // namespace plan
