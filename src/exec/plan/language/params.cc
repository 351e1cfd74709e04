#include "exec/plan/language/params.h"

#include <set>

#include "exec/plan/language/refs.h"

namespace plan {
namespace {

struct Uses {
    std::set<std::string> whole;  // Types asked for.
    bool in_text{false};
};

class Finder {
public:
    explicit Finder(std::map<std::string, Uses>& uses) : uses_(uses) {}

    void look(const json::value& value, const json::value* schema, const LoopNames& names) {
        if (const auto* object = value.if_object())
            for (const auto& member : *object)
                look(member.value(), below(schema, "properties", member.key()), names);
        if (const auto* array = value.if_array())
            for (const auto& item : *array)
                look(item, schema ? base::find(*schema, "items") : nullptr, names);
        if (!value.is_string()) return;
        const std::string text(std::string_view(value.get_string()));
        if (const auto ref = exact_ref(text, names))
            return note(*ref, schema ? base::string_at(*schema, "type") : "");
        for (const auto& found : find_refs(value, names, ""))
            if (is_param(found.ref)) uses_[found.ref.path.front()].in_text = true;
    }

    void note(const Ref& ref, const std::string& type) {
        if (!is_param(ref)) return;
        const std::string wanted = ref.path.size() > 1 ? "object" : type;
        if (!wanted.empty()) uses_[ref.path.front()].whole.insert(wanted);
    }

private:
    static bool is_param(const Ref& ref) {
        return ref.source == RefSource::Var && ref.name == kParamsVar && !ref.path.empty();
    }
    static const json::value* below(const json::value* schema, std::string_view list,
                                    std::string_view name) {
        const auto* members = schema ? base::find(*schema, list) : nullptr;
        return members ? base::find(*members, name) : nullptr;
    }

    std::map<std::string, Uses>& uses_;
};

}  // namespace

std::map<std::string, std::string> param_types(const Checked& plan,
                                               const tools::Registry& registry) {
    std::map<std::string, Uses> uses;
    Finder finder(uses);
    for (const auto& step : plan.plan.steps) {
        LoopNames names;
        if (step.foreach) {
            names = {step.foreach->item_name, step.foreach->index_name};
            if (const auto ref = exact_ref(step.foreach->from, {})) finder.note(*ref, "array");
        }
        const auto* tool = registry.find(step.tool);
        const json::value schema = tool ? json::value(tool->spec().input_schema) : json::value();
        finder.look(step.args, &schema, names);
    }
    std::map<std::string, std::string> types;
    for (auto& [name, use] : uses) {
        if (use.whole.contains("integer")) use.whole.erase("number");
        if (use.whole.size() == 1)
            types[name] = *use.whole.begin();
        else if (use.whole.empty() && use.in_text)
            types[name] = "string";
    }
    return types;
}

std::optional<json::value> fitted(const json::value& value, std::string_view type) {
    if (type == "string") {
        if (value.is_string()) return value;
        if (value.is_number() || value.is_bool()) return json::value(base::json_text(value));
        return std::nullopt;
    }
    const bool fits = type == "integer"   ? value.is_int64() || value.is_uint64()
                      : type == "number"  ? value.is_number()
                      : type == "boolean" ? value.is_bool()
                      : type == "array"   ? value.is_array()
                      : type == "object"  ? value.is_object()
                                          : true;
    return fits ? std::optional(value) : std::nullopt;
}

}  // namespace plan
