#include "exec/plan/language/schema.h"

#include "base/typed.h"
#include "exec/plan/language/model.h"

namespace plan {

BOOST_DESCRIBE_STRUCT(Retry, (), (max_attempts, backoff_ms))
constexpr auto describe_fields(const Retry*) {
    return std::to_array<base::FieldDoc>(
        {{"max_attempts", "Tries, the first one included.", R"("minimum":1,"maximum":10)"},
         {.field = "backoff_ms",
          .text = "Wait before the second try; it doubles from there.",
          .keywords = R"("minimum":0,"maximum":600000,"default":250)",
          .has_default = true}});
}

BOOST_DESCRIBE_STRUCT(Foreach, (), (from, item_name, index_name, concurrency))
constexpr auto describe_fields(const Foreach*) {
    return std::to_array<base::FieldDoc>(
        {{"from", "One reference to a list, such as $steps.read.items."},
         {"item_name", "What {name} in args stands for; letters, digits and _."},
         {.field = "index_name", .keywords = R"("default":"index")", .has_default = true},
         {.field = "concurrency",
          .text = "Calls side by side; the policy may allow fewer.",
          .keywords = R"("minimum":1,"default":1)",
          .has_default = true}});
}

BOOST_DESCRIBE_STRUCT(Step, (),
                      (id, tool, args, preview, depends_on, foreach, capture_as, on_error, retry,
                       timeout_ms, tags))
constexpr auto describe_fields(const Step*) {
    return std::to_array<base::FieldDoc>(
        {{"id", "Unique in the plan; a letter, then letters, digits, _ and -.",
          R"("pattern":"^[A-Za-z][A-Za-z0-9_-]*$")"},
         {"tool", "The exact name of a tool."},
         {"args", "The tool's input; texts in it may hold references."},
         {"preview", "One line that tells a person what the step does."},
         {.field = "depends_on",
          .text = "Steps that must have succeeded first; references imply the same.",
          .has_default = true},
         {"foreach", "Make the step once for each item of a list."},
         {"capture_as", "The step's output is also $vars.<name>."},
         {"on_error", "What a failure means for the run; stop when left out."},
         {.field = "timeout_ms", .keywords = R"("minimum":1)"},
         {.field = "tags", .has_default = true}});
}

namespace {

// The members of a plan that its types keep in another shape than the document has them.
struct Defaults {
    std::optional<OnError> on_error{};
    std::optional<Retry> retry{};
};
BOOST_DESCRIBE_STRUCT(Defaults, (), (on_error, retry))

struct ContextAsked {
    std::string kind;
    std::optional<json::object> options{};
};
BOOST_DESCRIBE_STRUCT(ContextAsked, (), (kind, options))

struct Shown {
    std::optional<bool> show_created_files{};
    std::optional<bool> show_modified_files{};
    std::optional<bool> show_command_runs{};
};
BOOST_DESCRIBE_STRUCT(Shown, (), (show_created_files, show_modified_files, show_command_runs))

struct Hints {
    std::optional<std::string> title{};
    std::optional<std::string> summary{};
};
BOOST_DESCRIBE_STRUCT(Hints, (), (title, summary))

struct Document {
    std::string version;
    std::string goal;
    std::vector<std::string> assumptions{};
    std::string risk_level;
    std::vector<ContextAsked> context_requests{};
    std::optional<Defaults> defaults{};
    std::vector<Step> steps{};
    std::optional<Shown> outputs{};
    std::optional<Hints> ui_hints{};
};
BOOST_DESCRIBE_STRUCT(Document, (),
                      (version, goal, assumptions, risk_level, context_requests, defaults, steps,
                       outputs, ui_hints))
constexpr auto describe_fields(const Document*) {
    return std::to_array<base::FieldDoc>(
        {{"version", "Of the form; write 1.0.", R"("pattern":"^[0-9]+\\.[0-9]+(\\.[0-9]+)?$")"},
         {"goal", "What the plan is for, in a sentence.", R"("minLength":1)"},
         {.field = "assumptions", .text = "What was taken for granted.", .has_default = true},
         {"risk_level", "The highest risk among the tools of the steps."},
         {.field = "context_requests", .has_default = true},
         {.field = "defaults", .text = "Used where a step says nothing."},
         {"steps", "", R"("minItems":1)"}});
}

// "depends_on" -> "dependsOn"
std::string camel(std::string_view name) {
    std::string out;
    bool upper = false;
    for (const char c : name) {
        if (c != '_')
            out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        upper = c == '_';
    }
    return out;
}

void respell(json::value& schema) {
    if (auto* list = schema.if_array())
        for (auto& one : *list) respell(one);
    auto* object = schema.if_object();
    if (!object) return;
    if (auto* properties = object->if_contains("properties")) {
        json::object renamed;
        for (auto& member : properties->get_object())
            renamed[camel(member.key())] = std::move(member.value());
        *properties = std::move(renamed);
    }
    if (auto* required = object->if_contains("required"))
        for (auto& name : required->get_array()) name = camel(name.get_string());
    for (auto& member : *object) respell(member.value());
}

template <std::size_t N>
json::array list_of(const std::string_view (&names)[N]) {
    json::array list;
    for (const auto name : names) list.emplace_back(name);
    return list;
}

}  // namespace

json::object plan_schema() {
    json::value schema = base::schema_of<Document>();
    respell(schema);
    auto& properties = schema.at("properties");
    json::array risks;
    for (const auto risk :
         {domain::RiskLevel::ReadOnly, domain::RiskLevel::Writes, domain::RiskLevel::Commands})
        risks.emplace_back(risk_name(risk));
    properties.at("riskLevel").get_object()["enum"] = std::move(risks);
    properties.at("contextRequests").at("items").at("properties").at("kind").get_object()["enum"] =
        list_of(kContextKinds);
    return std::move(schema.get_object());
}

}  // namespace plan
