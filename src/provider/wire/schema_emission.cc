#include "provider/wire/schema_emission.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "base/log/log.h"
#include "base/text.h"

namespace provider {
namespace {

constexpr std::array kRootRefused{"allOf", "anyOf", "oneOf", "enum", "not"};
constexpr std::array<std::string_view, 7> kTypeNames{"object",  "array",   "string", "number",
                                                     "integer", "boolean", "null"};
constexpr int kBranchDepthMax = 8;
constexpr std::array kBranches{"anyOf", "oneOf", "allOf"};
constexpr std::array kNamed{"properties", "$defs", "definitions"};

bool is_text(const json::value& value, std::string_view text) {
    return value.is_string() && std::string_view(value.get_string()) == text;
}

bool lists(const json::value& list, std::string_view name) {
    return list.is_array() && std::ranges::any_of(list.get_array(), [&](const auto& entry) {
               return is_text(entry, name);
           });
}

bool has_type(const json::object& schema, std::string_view name) {
    const auto* type = schema.if_contains("type");
    return type && (is_text(*type, name) || lists(*type, name));
}

bool is_object_schema(const json::object& schema) {
    return has_type(schema, "object") || schema.contains("properties");
}

bool is_map(const json::object& schema) {
    const auto* extra = schema.if_contains("additionalProperties");
    return extra && extra->is_object();
}

// Says nothing about the value, so anything goes.
bool is_open(const json::object& schema) {
    return std::ranges::none_of(
        std::array{"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties"},
        [&](const char* key) { return schema.contains(key); });
}

bool accepts_null(const json::object& schema) {
    if (has_type(schema, "null")) return true;
    for (const char* key : {"anyOf", "oneOf"})
        if (const auto* options = schema.if_contains(key); options && options->is_array())
            for (const auto& option : options->get_array())
                if (option.is_object() && has_type(option.get_object(), "null")) return true;
    return false;
}

void add_null_to_enum(json::object& schema) {
    auto* values = schema.if_contains("enum");
    if (!values || !values->is_array()) return;
    auto& list = values->get_array();
    if (std::ranges::none_of(list, [](const auto& entry) { return entry.is_null(); }))
        list.emplace_back(nullptr);
}

json::object nullable(json::object schema) {
    if (accepts_null(schema)) {
        add_null_to_enum(schema);
        return schema;
    }
    auto* type = schema.if_contains("type");
    if (type && !schema.contains("const")) {
        if (!type->is_array()) *type = json::array{*type};
        type->get_array().emplace_back("null");
        add_null_to_enum(schema);
        return schema;
    }
    if (auto* options = schema.if_contains("anyOf"); options && options->is_array()) {
        options->get_array().push_back(json::object{{"type", "null"}});
        return schema;
    }
    return {{"anyOf", json::array{std::move(schema), json::object{{"type", "null"}}}}};
}

std::unexpected<base::Error> inexpressible(std::string_view where, std::string_view why) {
    return base::fail(base::ErrorCode::InvalidInput, "{}: {}", where.empty() ? "/" : where, why);
}

// The schema that a local reference names; null when there is none.
const json::value* resolve(const json::value& root, std::string_view ref) {
    if (!ref.starts_with('#')) return nullptr;
    ref.remove_prefix(1);
    boost::system::error_code error;
    const auto* found = root.find_pointer(json::string_view(ref.data(), ref.size()), error);
    return error ? nullptr : found;
}

bool is_type_name(const json::value& name) {
    return name.is_string() &&
           std::ranges::count(kTypeNames, std::string_view(name.get_string())) > 0;
}

// Takes out what is no JSON Schema but occurs in the schemas of servers: it says nothing that a
// model needs, and one such place would have the whole request refused.
void repair(json::object& schema) {
    if (auto* type = schema.if_contains("type")) {
        if (auto* names = type->if_array())
            names->erase(
                std::remove_if(names->begin(), names->end(),
                               [](const json::value& name) { return !is_type_name(name); }),
                names->end());
        const bool is_usable = type->is_array() ? !type->get_array().empty() : is_type_name(*type);
        if (!is_usable) schema.stable_erase("type");
    }
    if (const auto* required = schema.if_contains("required"); required && !required->is_array())
        schema.stable_erase("required");
    if (has_type(schema, "array")) {
        const auto* items = schema.if_contains("items");
        if (!items || !items->is_object()) schema["items"] = json::object();
    }
    if (auto* properties = schema.if_contains("properties");
        properties && properties->is_object()) {
        json::object kept;
        for (auto& [name, value] : properties->get_object())
            if (value.is_bool() && value.get_bool())
                kept[name] = json::object();  // Anything goes.
            else if (!value.is_bool())
                kept[name] = value;
        properties->get_object() = std::move(kept);
    }
}

// Adds what the branches of the root describe to the root itself, where vendors take no branches.
// The input still has to fit the tool's own schema, which says more.
void merge_branches(const json::value& root, const json::object& from, json::object& into,
                    int depth) {
    if (depth > kBranchDepthMax) return;
    if (const auto* properties = from.if_contains("properties");
        properties && properties->is_object())
        for (const auto& [name, value] : properties->get_object()) {
            json::value& all = into["properties"];
            if (!all.is_object()) all.emplace_object();
            if (!all.get_object().contains(name)) all.get_object()[name] = value;
        }
    const auto add = [&](const json::value& branch) {
        if (branch.is_object()) merge_branches(root, branch.get_object(), into, depth + 1);
    };
    for (const char* key : kBranches)
        if (const auto* list = from.if_contains(key); list && list->is_array())
            for (const auto& branch : list->get_array()) add(branch);
    if (const auto* ref = from.if_contains("$ref"); ref && ref->is_string())
        if (const auto* found = resolve(root, ref->get_string())) add(*found);
}

// Rewrites in place, depth first. Documents are bounded in depth where they are parsed.
class Emission {
public:
    Emission(SchemaMode mode, const json::value& root) : mode_(mode), root_(root) {}

    base::Status rewrite(json::object& schema, const std::string& where) {
        repair(schema);
        if (const auto* ref = schema.if_contains("$ref"))
            if (!ref->is_string() || !resolve(root_, ref->get_string()))
                return inexpressible(where, "refers to a schema that is not part of it");
        if (const auto* properties = schema.if_contains("properties");
            properties && !properties->is_object())
            return inexpressible(where, "its properties are not an object");
        if (mode_ == SchemaMode::Strict) {
            if (is_map(schema)) return inexpressible(where, "a map has no strict form");
            if (is_open(schema) || (has_type(schema, "object") && !schema.contains("properties")))
                return inexpressible(where, "free JSON has no strict form");
            schema.stable_erase("default");
        }
        for (const char* key : kBranches)
            if (auto* list = schema.if_contains(key); list && list->is_array())
                if (auto status = rewrite_list(list->get_array(), where + "/" + key); !status)
                    return status;
        for (const char* key : kNamed)
            if (auto* named = schema.if_contains(key); named && named->is_object())
                for (auto& member : named->get_object())
                    if (auto status = rewrite_value(
                            member.value(), where + "/" + key + "/" + std::string(member.key()));
                        !status)
                        return status;
        for (const char* key : {"items", "additionalProperties"})
            if (auto* child = schema.if_contains(key))
                if (auto status = rewrite_value(*child, where + "/" + key); !status) return status;
        if (is_object_schema(schema) && mode_ != SchemaMode::Open) close(schema, where.empty());
        return {};
    }

private:
    base::Status rewrite_value(json::value& value, const std::string& where) {
        if (value.is_object()) return rewrite(value.get_object(), where);
        if (value.is_bool()) return {};
        return inexpressible(where, "is not a schema");
    }

    base::Status rewrite_list(json::array& list, const std::string& where) {
        for (std::size_t i = 0; i < list.size(); ++i)
            if (auto status = rewrite_value(list[i], where + "/" + std::to_string(i)); !status)
                return status;
        return {};
    }

    void close(json::object& schema, bool is_root) {
        // An object of which nothing is said takes anything. The root lists the parameters.
        const auto* extra = schema.if_contains("additionalProperties");
        const bool is_closed = extra && extra->is_bool() && !extra->get_bool();
        if (!is_root && !schema.contains("properties") && !is_map(schema) && !is_closed) {
            schema["additionalProperties"] = true;
            return;
        }
        if (!schema.contains("properties")) schema["properties"] = json::object();
        if (!is_map(schema)) schema["additionalProperties"] = false;
        if (mode_ == SchemaMode::Strict) require_all(schema);
    }

    static void require_all(json::object& schema) {
        auto* properties = schema["properties"].if_object();
        if (!properties) return;
        const json::value before =
            schema.contains("required") ? schema["required"] : json::value(json::array());
        json::array required;
        for (auto& property : *properties) {
            required.push_back(json::value(property.key()));
            if (!lists(before, property.key()) && property.value().is_object())
                property.value() = nullable(std::move(property.value().get_object()));
        }
        schema["required"] = std::move(required);
    }

    SchemaMode mode_;
    const json::value& root_;
};

// Requests are made round after round; the operator is warned once.
void warn_once(const ToolDeclaration& tool, const std::string& why) {
    constexpr std::size_t kWarningsMax = 1000;
    static std::mutex mutex;
    static std::set<std::string> warned;
    const std::scoped_lock lock(mutex);
    if (warned.size() < kWarningsMax && warned.insert(tool.name).second)
        base::log_warn("tool {} is not offered to models: its input schema cannot be sent ({})",
                       tool.name, why);
}

}  // namespace

base::Result<json::object> emit_schema(const json::object& source, SchemaMode mode) {
    json::object schema = source;
    const json::value root(source);
    if (schema.contains("type") && !has_type(schema, "object"))
        return inexpressible("", "describes no object, but tools take named parameters");
    schema["type"] = "object";
    merge_branches(root, source, schema, 0);
    schema.stable_erase("$ref");
    if (mode == SchemaMode::Open) {
        for (const char* key : kBranches) schema.stable_erase(key);
    } else {
        for (const char* key : kRootRefused) schema.stable_erase(key);
        schema.stable_erase("$schema");
        if (!schema.contains("properties")) schema["properties"] = json::object();
    }
    if (auto status = Emission(mode, root).rewrite(schema, ""); !status)
        return std::unexpected(std::move(status).error());
    return schema;
}

std::optional<json::object> offered_schema(const ToolDeclaration& tool, SchemaMode mode) {
    auto schema = emit_schema(tool.input_schema, mode);
    if (schema) return std::move(*schema);
    warn_once(tool, schema.error().message);
    return std::nullopt;
}

std::optional<json::object> offer_function(const ToolDeclaration& tool) {
    auto declared = declare_function(tool, SchemaMode::Relaxed);
    if (declared) return std::move(*declared);
    warn_once(tool, declared.error().message);
    return std::nullopt;
}

base::Result<json::object> declare_function(const ToolDeclaration& tool, SchemaMode mode) {
    auto parameters = emit_schema(tool.input_schema, mode);
    if (!parameters)
        return base::fail(parameters.error().code, "tool {}: {}", tool.name,
                          parameters.error().message);
    return json::object{{"type", "function"},
                        {"function", json::object{{"name", tool.name},
                                                  {"description", tool.description},
                                                  {"parameters", std::move(*parameters)},
                                                  {"strict", mode == SchemaMode::Strict}}}};
}

}  // namespace provider
