#include "provider/wire/schema_emission.h"

#include <algorithm>
#include <array>

namespace provider {
namespace {

constexpr std::array kRootRefused{"allOf", "anyOf", "oneOf", "enum", "not"};
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

// Rewrites in place, depth first. Documents are bounded in depth where they are parsed.
class Emission {
public:
    explicit Emission(SchemaMode mode) : mode_(mode) {}

    base::Status rewrite(json::object& schema, const std::string& where) {
        if (mode_ == SchemaMode::Strict) {
            if (is_map(schema))
                return base::fail(base::ErrorCode::InvalidInput, "{}: a map has no strict form",
                                  where);
            if (is_open(schema) || (has_type(schema, "object") && !schema.contains("properties")))
                return base::fail(base::ErrorCode::InvalidInput, "{}: free JSON has no strict form",
                                  where);
            schema.erase("default");
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
        if (is_object_schema(schema)) close(schema);
        return {};
    }

private:
    base::Status rewrite_value(json::value& value, const std::string& where) {
        return value.is_object() ? rewrite(value.get_object(), where) : base::Status{};
    }

    base::Status rewrite_list(json::array& list, const std::string& where) {
        for (std::size_t i = 0; i < list.size(); ++i)
            if (auto status = rewrite_value(list[i], where + "/" + std::to_string(i)); !status)
                return status;
        return {};
    }

    void close(json::object& schema) {
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
};

}  // namespace

base::Result<json::object> emit_schema(const json::object& source, SchemaMode mode) {
    json::object schema = source;
    for (const char* key : kRootRefused) schema.erase(key);
    if (!schema.contains("type")) schema["type"] = "object";
    if (!schema.contains("properties")) schema["properties"] = json::object();
    if (auto status = Emission(mode).rewrite(schema, ""); !status)
        return std::unexpected(std::move(status).error());
    return schema;
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
