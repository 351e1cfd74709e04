#include "exec/tools/schema_check.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/typed.h"

namespace tools {
namespace {

constexpr std::size_t kEchoCharsMax = 60;

std::string shown(const json::value& value) {
    return base::printable(base::ellipsize(base::json_text(value), kEchoCharsMax));
}

// What was sent instead. A list or an object is not repeated: it may be a command line with a
// secret, sent in the wrong form.
std::string sent(const json::value& value) {
    if (value.is_array() && !value.get_array().empty()) return "an array";
    if (value.is_object() && !value.get_object().empty()) return "an object";
    return shown(value);
}

bool has_type(const json::value& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "null") return value.is_null();
    if (type == "number") return value.is_number();
    // No parameter of ours is wider than 64 bits with a sign, so larger numbers fit none.
    if (type == "integer")
        return value.is_int64() ||
               (value.is_uint64() && std::in_range<std::int64_t>(value.get_uint64()));
    return true;
}

class Checker {
public:
    std::vector<SchemaFault> faults;

    void check(const json::object& schema, const json::value& value, const std::string& pointer) {
        if (!check_type(schema, value, pointer)) return;
        check_choice(schema, value, pointer);
        if (value.is_object()) check_object(schema, value.get_object(), pointer);
        if (value.is_array()) check_array(schema, value.get_array(), pointer);
        if (value.is_string()) check_length(schema, std::string_view(value.get_string()), pointer);
        if (value.is_number()) check_range(schema, value.to_number<double>(), pointer);
        check_any_of(schema, value, pointer);
    }

private:
    void fault(const std::string& pointer, std::string message) {
        if (faults.size() < kSchemaFaultsMax) faults.push_back({pointer, std::move(message)});
    }

    bool check_type(const json::object& schema, const json::value& value,
                    const std::string& pointer) {
        const auto* type = schema.if_contains("type");
        if (!type) return true;
        bool fits = false;
        std::string names;
        const auto consider = [&](const json::value& name) {
            if (!name.is_string()) return;
            fits = fits || has_type(value, std::string_view(name.get_string()));
            names +=
                (names.empty() ? "" : " or ") + std::string(std::string_view(name.get_string()));
        };
        if (const auto* list = type->if_array()) {
            for (const auto& name : *list) consider(name);
        } else {
            consider(*type);
        }
        if (names.empty()) return true;
        if (!fits) fault(pointer, fmt::format("expected {}, got {}", names, sent(value)));
        return fits;
    }

    void check_choice(const json::object& schema, const json::value& value,
                      const std::string& pointer) {
        const auto* choices = schema.if_contains("enum");
        if (choices && choices->is_array() &&
            std::ranges::find(choices->get_array(), value) == choices->get_array().end())
            fault(pointer, fmt::format("expected one of {}, got {}", shown(*choices), sent(value)));
        const auto* constant = schema.if_contains("const");
        if (constant && *constant != value)
            fault(pointer, fmt::format("expected {}, got {}", shown(*constant), sent(value)));
    }

    void check_object(const json::object& schema, const json::object& object,
                      const std::string& pointer) {
        static const json::object kNone;
        const auto* declared = schema.if_contains("properties");
        const json::object& properties =
            declared && declared->is_object() ? declared->get_object() : kNone;
        std::vector<std::string> required;
        if (const auto* list = schema.if_contains("required"); list && list->is_array())
            for (const auto& name : list->get_array())
                if (name.is_string()) required.emplace_back(std::string_view(name.get_string()));
        for (const auto& name : required)
            if (!object.contains(name))
                fault(base::typed::child_pointer(pointer, name), "is required");
        const auto* additional = schema.if_contains("additionalProperties");
        std::vector<std::string> names;
        for (const auto& property : properties)
            names.emplace_back(std::string_view(property.key()));
        for (const auto& member : object) {
            const std::string key(std::string_view(member.key()));
            const std::string place = base::typed::child_pointer(pointer, key);
            const bool is_required = std::ranges::find(required, key) != required.end();
            if (const auto* property = properties.if_contains(key);
                property && property->is_object()) {
                if (!(member.value().is_null() && !is_required))
                    check(property->get_object(), member.value(), place);
            } else if (additional && additional->is_object()) {
                check(additional->get_object(), member.value(), place);
            } else if (additional && additional->is_bool() && !additional->get_bool()) {
                const std::string near = base::nearest(key, names);
                fault(place, near.empty()
                                 ? "is not a known field"
                                 : fmt::format("is not a known field; did you mean '{}'?", near));
            }
        }
    }

    void check_array(const json::object& schema, const json::array& array,
                     const std::string& pointer) {
        if (const auto* min = schema.if_contains("minItems");
            min && min->is_number() && static_cast<double>(array.size()) < min->to_number<double>())
            fault(pointer,
                  fmt::format("needs at least {} items, got {}", shown(*min), array.size()));
        if (const auto* max = schema.if_contains("maxItems");
            max && max->is_number() && static_cast<double>(array.size()) > max->to_number<double>())
            fault(pointer,
                  fmt::format("takes at most {} items, got {}", shown(*max), array.size()));
        const auto* items = schema.if_contains("items");
        if (!items || !items->is_object()) return;
        for (std::size_t i = 0; i < array.size(); ++i)
            check(items->get_object(), array[i], pointer + "/" + std::to_string(i));
    }

    void check_length(const json::object& schema, std::string_view text,
                      const std::string& pointer) {
        const std::size_t chars = base::char_count(text);
        if (const auto* min = schema.if_contains("minLength");
            min && min->is_number() && static_cast<double>(chars) < min->to_number<double>())
            fault(pointer, fmt::format("needs at least {} characters", shown(*min)));
        if (const auto* max = schema.if_contains("maxLength");
            max && max->is_number() && static_cast<double>(chars) > max->to_number<double>())
            fault(pointer, fmt::format("takes at most {} characters, got {}", shown(*max), chars));
    }

    void check_range(const json::object& schema, double number, const std::string& pointer) {
        if (const auto* min = schema.if_contains("minimum");
            min && min->is_number() && number < min->to_number<double>())
            fault(pointer, fmt::format("must be at least {}", shown(*min)));
        if (const auto* max = schema.if_contains("maximum");
            max && max->is_number() && number > max->to_number<double>())
            fault(pointer, fmt::format("must be at most {}", shown(*max)));
    }

    void check_any_of(const json::object& schema, const json::value& value,
                      const std::string& pointer) {
        const auto* options = schema.if_contains("anyOf");
        if (!options || !options->is_array() || options->get_array().empty()) return;
        for (const auto& option : options->get_array()) {
            Checker alternative;
            if (option.is_object()) alternative.check(option.get_object(), value, pointer);
            if (alternative.faults.empty()) return;
        }
        fault(pointer, "fits none of the allowed forms");
    }
};

}  // namespace

std::vector<SchemaFault> check_schema(const json::object& schema, const json::value& value) {
    Checker checker;
    checker.check(schema, value, "");
    return std::move(checker.faults);
}

}  // namespace tools
