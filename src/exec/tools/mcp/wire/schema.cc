#include "exec/tools/mcp/wire/schema.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/plain_text.h"

namespace mcp {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

constexpr auto kTypes = std::to_array<std::string_view>(
    {"object", "array", "string", "boolean", "null", "number", "integer"});
constexpr auto kNumbers = std::to_array<std::string_view>(
    {"minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"});

bool is_type(const json::value& value) {
    return value.is_string() &&
           std::ranges::find(kTypes, std::string_view(value.get_string())) != kTypes.end();
}

bool is_choice(const json::value& value) {
    if (value.is_string()) return base::is_plain(value.get_string(), kSchemaTextCharsMax);
    return !value.is_object() && !value.is_array();
}

class Cleaner {
public:
    explicit Cleaner(const json::object& root) : root_(root) {}

    Result<json::object> clean(const json::object& schema, std::size_t depth) {
        if (depth > kSchemaDepthMax)
            return fail(ErrorCode::InvalidInput, "its input schema is nested deeper than {}",
                        kSchemaDepthMax);
        if (++parts_ > kSchemaPartsMax)
            return fail(ErrorCode::InvalidInput, "its input schema has more than {} parts",
                        kSchemaPartsMax);
        json::object out;
        if (const auto* ref = base::find(schema, "$ref")) out = TRY(follow(*ref, depth));
        copy_plain(schema, out);
        TRY(copy_choices(schema, out));
        TRY(copy_properties(schema, out, depth));
        TRY(copy_inner(schema, out, depth));
        TRY(copy_alternatives(schema, out, depth));
        return out;
    }

private:
    Result<json::object> follow(const json::value& ref, std::size_t depth) {
        if (!ref.is_string()) return json::object{};
        const std::string name(std::string_view(ref.get_string()));
        for (const std::string_view group : {"$defs", "definitions"}) {
            const std::string prefix = fmt::format("#/{}/", group);
            if (!name.starts_with(prefix)) continue;
            const auto* definitions = base::find(root_, group);
            const auto* target =
                definitions ? base::find(*definitions, name.substr(prefix.size())) : nullptr;
            if (!target || !target->is_object() || std::ranges::find(open_, name) != open_.end())
                return json::object{};
            open_.push_back(name);
            auto cleaned = clean(target->get_object(), depth + 1);
            open_.pop_back();
            return cleaned;
        }
        return json::object{};
    }

    static void copy_plain(const json::object& schema, json::object& out) {
        if (const auto* type = base::find(schema, "type")) {
            if (is_type(*type) || (type->is_array() && !type->get_array().empty() &&
                                   std::ranges::all_of(type->get_array(), is_type)))
                out["type"] = *type;
        }
        if (const std::string text = base::string_at(schema, "description"); !text.empty())
            out["description"] = base::plain_text(text, kSchemaTextCharsMax);
        for (const auto name : kNumbers)
            if (const auto* bound = base::find(schema, name); bound && bound->is_number())
                out[name] = *bound;
        if (const auto* value = base::find(schema, "default"); value && is_choice(*value))
            out["default"] = *value;
    }

    static Status copy_choices(const json::object& schema, json::object& out) {
        if (const auto* constant = base::find(schema, "const"); constant && is_choice(*constant))
            out["const"] = *constant;
        const auto* choices = base::find(schema, "enum");
        if (!choices || !choices->is_array()) return {};
        if (choices->get_array().size() > kSchemaChoicesMax ||
            !std::ranges::all_of(choices->get_array(), is_choice))
            return fail(ErrorCode::InvalidInput,
                        "an enum of its input schema has more than {} values, or values that "
                        "cannot be shown",
                        kSchemaChoicesMax);
        out["enum"] = *choices;
        return {};
    }

    Status copy_properties(const json::object& schema, json::object& out, std::size_t depth) {
        const auto* declared = base::find(schema, "properties");
        if (!declared || !declared->is_object()) return {};
        json::object properties;
        for (const auto& property : declared->get_object()) {
            const std::string_view name = property.key();
            if (name.empty() || !base::is_plain(name, kSchemaNameCharsMax))
                return fail(ErrorCode::InvalidInput,
                            "a parameter's name is longer than {} characters or cannot be shown",
                            kSchemaNameCharsMax);
            properties[name] = property.value().is_object()
                                   ? TRY(clean(property.value().get_object(), depth + 1))
                                   : json::object{};
        }
        json::array required;
        if (const auto* names = base::find(schema, "required"); names && names->is_array())
            for (const auto& name : names->get_array())
                if (name.is_string() && properties.contains(name.get_string()))
                    required.push_back(name);
        out["properties"] = std::move(properties);
        if (!required.empty()) out["required"] = std::move(required);
        return {};
    }

    Status copy_inner(const json::object& schema, json::object& out, std::size_t depth) {
        if (const auto* items = base::find(schema, "items"); items && items->is_object())
            out["items"] = TRY(clean(items->get_object(), depth + 1));
        const auto* additional = base::find(schema, "additionalProperties");
        if (additional && additional->is_bool()) out["additionalProperties"] = *additional;
        if (additional && additional->is_object())
            out["additionalProperties"] = TRY(clean(additional->get_object(), depth + 1));
        return {};
    }

    Status copy_alternatives(const json::object& schema, json::object& out, std::size_t depth) {
        for (const std::string_view name : {"anyOf", "oneOf"}) {
            const auto* options = base::find(schema, name);
            if (!options || !options->is_array() || options->get_array().empty()) continue;
            json::array kept;
            for (const auto& option : options->get_array())
                kept.push_back(option.is_object() ? TRY(clean(option.get_object(), depth + 1))
                                                  : json::object{});
            out["anyOf"] = std::move(kept);
        }
        // A single one is how some libraries add words to a reference.
        const auto* all = base::find(schema, "allOf");
        if (!all || !all->is_array() || all->get_array().size() != 1 ||
            !all->get_array().front().is_object())
            return {};
        for (auto& member : TRY(clean(all->get_array().front().get_object(), depth + 1)))
            if (!out.contains(member.key())) out[member.key()] = member.value();
        return {};
    }

    const json::object& root_;
    std::size_t parts_{0};
    std::vector<std::string> open_;  // References on the way to where we are.
};

}  // namespace

Result<json::object> usable_schema(const json::value& schema) {
    if (!schema.is_object())
        return fail(ErrorCode::InvalidInput, "its input schema is not a JSON object");
    const json::object& root = schema.get_object();
    json::object out = TRY(Cleaner(root).clean(root, 0));
    const auto* type = base::find(out, "type");
    if (type && *type != json::value("object"))
        return fail(ErrorCode::InvalidInput, "its input schema does not describe an object");
    out["type"] = "object";
    if (!out.contains("properties")) out["properties"] = json::object{};
    if (base::json_text(out).size() > kSchemaBytesMax)
        return fail(ErrorCode::InvalidInput, "its input schema is larger than {} bytes",
                    kSchemaBytesMax);
    return out;
}

}  // namespace mcp
