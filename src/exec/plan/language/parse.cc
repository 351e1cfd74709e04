#include "exec/plan/language/parse.h"

#include <algorithm>
#include <cctype>

#include "base/hash.h"
#include "base/text.h"
#include "base/typed.h"
#include "exec/plan/language/duplicates.h"
#include "exec/plan/language/yaml.h"

namespace plan {
namespace {

constexpr std::size_t kShownCharsMax = 60;

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// A list or an object is not repeated: it may be a command line with a secret, in the wrong form.
std::string shown(const json::value& value) {
    if (value.is_array() && !value.get_array().empty()) return "a list";
    if (value.is_object() && !value.get_object().empty()) return "an object";
    return base::printable(base::ellipsize(base::to_utf8(base::json_text(value)), kShownCharsMax));
}

// "1.0" or "1.0.2"
bool is_version(std::string_view text) {
    int parts = 1;
    bool digit = false;
    for (const char c : text) {
        if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
            digit = true;
        } else if (c == '.' && digit && parts < 3) {
            ++parts;
            digit = false;
        } else {
            return false;
        }
    }
    return digit && parts >= 2;
}

// Reads the members of one object and remembers which it was asked for, so that the rest can be
// reported as unknown.
class Members {
public:
    Members(const json::value& value, std::string path, std::vector<Fault>& faults)
        : object_(value.if_object()), path_(std::move(path)), faults_(faults) {
        if (!object_) fault("", "expected an object, got " + shown(value));
    }

    const json::value* find(std::string_view name, bool required = false) {
        known_.emplace_back(name);
        const auto* value = object_ ? object_->if_contains(name) : nullptr;
        if (!value && required && object_) fault(name, "is required");
        return value;
    }

    std::optional<std::string> text(std::string_view name, bool required = false) {
        const auto* value = find(name, required);
        if (!value) return std::nullopt;
        if (!value->is_string()) {
            fault(name, "expected text, got " + shown(*value),
                  value->is_number() ? "Write it in quotes." : "");
            return std::nullopt;
        }
        return std::string(std::string_view(value->get_string()));
    }

    std::optional<std::int64_t> number(std::string_view name, std::int64_t min, std::int64_t max,
                                       bool required = false) {
        const auto* value = find(name, required);
        if (!value) return std::nullopt;
        boost::system::error_code inexact;
        const auto number = value->is_number() ? value->to_number<std::int64_t>(inexact) : 0;
        if (!value->is_number() || inexact) {
            fault(name, "expected a whole number, got " + shown(*value));
            return std::nullopt;
        }
        if (number < min || number > max) {
            fault(name, max == INT64_MAX
                            ? fmt::format("must be at least {}, got {}", min, number)
                            : fmt::format("must be between {} and {}, got {}", min, max, number));
            return std::nullopt;
        }
        return number;
    }

    bool truth(std::string_view name, bool fallback) {
        const auto* value = find(name);
        if (!value) return fallback;
        if (!value->is_bool()) {
            fault(name, "expected true or false, got " + shown(*value));
            return fallback;
        }
        return value->get_bool();
    }

    std::vector<std::string> texts(std::string_view name) {
        std::vector<std::string> list;
        each(name, false, [&](const json::value& item, const std::string& path) {
            if (item.is_string())
                list.emplace_back(std::string_view(item.get_string()));
            else
                faults_.push_back({path, "expected text, got " + shown(item)});
        });
        return list;
    }

    template <class Visit>
    void each(std::string_view name, bool required, Visit visit) {
        const auto* value = find(name, required);
        if (!value) return;
        if (!value->is_array()) return fault(name, "expected a list, got " + shown(*value));
        for (std::size_t i = 0; i < value->get_array().size(); ++i)
            visit(value->get_array()[i], at(name) + "/" + std::to_string(i));
    }

    // One of `names`, by its place.
    std::optional<std::size_t> choice(std::string_view name,
                                      std::span<const std::string_view> names,
                                      bool required = false) {
        const auto value = text(name, required);
        if (!value) return std::nullopt;
        const auto found = std::ranges::find(names, std::string_view(*value));
        if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
        std::vector<std::string> candidates(names.begin(), names.end());
        const std::string near = base::nearest(*value, candidates);
        fault(name,
              fmt::format("expected one of {}, got {}", fmt::join(candidates, ", "),
                          shown(json::value(*value))),
              near.empty() ? "" : "Did you mean " + near + "?");
        return std::nullopt;
    }

    // Call last: everything that nobody asked for is a fault.
    void refuse_others() {
        if (!object_) return;
        for (const auto& member : *object_) {
            const std::string name(std::string_view(member.key()));
            if (std::ranges::find(known_, name) != known_.end()) continue;
            const std::string near = base::nearest(name, known_);
            fault(name, "is not a known field",
                  near.empty() ? fmt::format("Known are {}.", fmt::join(known_, ", "))
                               : "Did you mean " + near + "?");
        }
    }

    void fault(std::string_view name, std::string message, std::string hint = "") {
        faults_.push_back({name.empty() ? path_ : at(name), std::move(message), std::move(hint)});
    }
    std::string at(std::string_view name) const { return base::typed::child_pointer(path_, name); }
    bool is_object() const { return object_ != nullptr; }

private:
    const json::object* object_;
    std::string path_;
    std::vector<Fault>& faults_;
    std::vector<std::string> known_;
};

constexpr std::string_view kOnErrors[] = {"stop", "skip", "retry"};
constexpr std::string_view kRisks[] = {"read-only", "writes", "commands"};

std::optional<OnError> read_on_error(Members& from) {
    const auto at = from.choice("onError", kOnErrors);
    if (!at) return std::nullopt;
    return static_cast<OnError>(*at);
}

std::optional<Retry> read_retry(Members& from, std::vector<Fault>& faults) {
    const auto* value = from.find("retry");
    if (!value) return std::nullopt;
    Members members(*value, from.at("retry"), faults);
    Retry retry;
    retry.max_attempts = members.number("maxAttempts", 1, kAttemptsMax, true).value_or(1);
    retry.backoff_ms = members.number("backoffMs", 0, kBackoffMsMax).value_or(kBackoffMsDefault);
    members.refuse_others();
    return retry;
}

std::string read_name(Members& members, std::string_view name, bool required,
                      std::string_view fallback) {
    const auto text = members.text(name, required);
    if (text && !is_name(*text))
        members.fault(name, fmt::format("'{}' is not a name", base::printable(*text)),
                      "Use a letter, then letters, digits and '_'.");
    return text.value_or(std::string(fallback));
}

std::optional<Foreach> read_foreach(Members& from, std::vector<Fault>& faults) {
    const auto* value = from.find("foreach");
    if (!value) return std::nullopt;
    Members members(*value, from.at("foreach"), faults);
    Foreach loop;
    loop.from = members.text("from", true).value_or("");
    loop.item_name = read_name(members, "itemName", true, "item");
    loop.index_name = read_name(members, "indexName", false, "index");
    loop.concurrency = members.number("concurrency", 1, INT64_MAX).value_or(1);
    if (loop.item_name == loop.index_name)
        members.fault("indexName", "is the same as itemName", "Give the index another name.");
    members.refuse_others();
    return loop;
}

Step read_step(const json::value& value, const std::string& path, std::vector<Fault>& faults) {
    Members members(value, path, faults);
    Step step;
    step.id = members.text("id", true).value_or("");
    if (!step.id.empty() && !is_step_id(step.id))
        members.fault("id", fmt::format("'{}' is not a step id", base::printable(step.id)),
                      "Use a letter, then letters, digits, '_' and '-'.");
    else if (step.id.empty() && members.is_object() && base::find(value, "id"))
        members.fault("id", "must not be empty");
    step.tool = members.text("tool", true).value_or("");
    if (const auto* args = members.find("args", true)) {
        if (args->is_object())
            step.args = args->get_object();
        else
            members.fault("args", "expected an object, got " + shown(*args));
    }
    step.preview = members.text("preview");
    step.depends_on = members.texts("dependsOn");
    step.foreach = read_foreach(members, faults);
    if (members.find("captureAs")) step.capture_as = read_name(members, "captureAs", false, "");
    step.on_error = read_on_error(members);
    step.retry = read_retry(members, faults);
    step.timeout_ms = members.number("timeoutMs", 1, INT64_MAX);
    step.tags = members.texts("tags");
    members.refuse_others();
    return step;
}

ContextRequest read_context(const json::value& value, const std::string& path,
                            std::vector<Fault>& faults) {
    Members members(value, path, faults);
    ContextRequest request;
    if (const auto kind = members.choice("kind", kContextKinds, true))
        request.kind = static_cast<ContextKind>(*kind);
    if (const auto* options = members.find("options")) {
        if (options->is_object())
            request.options = options->get_object();
        else
            members.fault("options", "expected an object, got " + shown(*options));
    }
    members.refuse_others();
    return request;
}

void read_steps(Members& members, Plan& plan, std::vector<Fault>& faults) {
    std::size_t count = 0;
    members.each("steps", true, [&](const json::value& value, const std::string& path) {
        if (++count <= kStepsMax) plan.steps.push_back(read_step(value, path, faults));
    });
    const auto* steps = members.find("steps");
    if (steps && steps->is_array() && count == 0)
        members.fault("steps", "a plan has at least one step");
    if (count > kStepsMax)
        members.fault("steps", fmt::format("a plan has at most {} steps, got {}", kStepsMax, count),
                      "Use foreach for what repeats.");
}

}  // namespace

bool is_step_id(std::string_view text) {
    return !text.empty() && is_letter(text[0]) &&
           std::ranges::all_of(text, [](char c) { return is_word(c) || c == '-'; });
}

bool is_name(std::string_view text) {
    return !text.empty() && (is_letter(text[0]) || text[0] == '_') &&
           std::ranges::all_of(text, is_word);
}

std::string_view risk_name(domain::RiskLevel risk) {
    return kRisks[static_cast<std::size_t>(risk)];
}

std::optional<domain::RiskLevel> risk_from(std::string_view name) {
    const auto found = std::ranges::find(kRisks, name);
    if (found == std::end(kRisks)) return std::nullopt;
    return static_cast<domain::RiskLevel>(found - std::begin(kRisks));
}

base::Result<json::value> parse_document(std::string_view text) {
    if (text.size() > kPlanBytesMax)
        return base::fail(base::ErrorCode::InvalidInput,
                          "a plan has at most {} bytes, this one has {}", kPlanBytesMax,
                          text.size());
    // Broken JSON is reported as such; as YAML it would be a riddle.
    const auto start = base::trim(text);
    if (!start.starts_with('{') && !start.starts_with('[')) return parse_yaml(text);
    auto value = TRY(base::parse_json(text));
    if (const auto name = duplicate_member(text))
        return base::fail(base::ErrorCode::InvalidInput, "the member '{}' is there twice",
                          base::printable(*name));
    return value;
}

Decoded decode_all(const json::value& document) {
    Decoded out;
    auto& [plan, faults] = out;
    Members members(document, "", faults);
    plan.version = members.text("version", true).value_or("");
    if (const auto* version = members.find("version");
        version && version->is_string() && !is_version(plan.version))
        members.fault("version", fmt::format("expected N.N or N.N.N, got {}", shown(*version)));
    plan.goal = members.text("goal", true).value_or("");
    if (const auto* goal = members.find("goal");
        goal && goal->is_string() && base::trim(plan.goal).empty())
        members.fault("goal", "must not be empty", "Say what the plan is for.");
    plan.assumptions = members.texts("assumptions");
    if (const auto risk = members.choice("riskLevel", kRisks, true))
        plan.risk_level = static_cast<domain::RiskLevel>(*risk);
    members.each("contextRequests", false, [&](const json::value& value, const std::string& path) {
        plan.context_requests.push_back(read_context(value, path, faults));
    });
    if (const auto* value = members.find("defaults")) {
        Members defaults(*value, "/defaults", faults);
        plan.on_error_default = read_on_error(defaults);
        plan.retry_default = read_retry(defaults, faults);
        defaults.refuse_others();
    }
    read_steps(members, plan, faults);
    if (const auto* value = members.find("outputs")) {
        Members outputs(*value, "/outputs", faults);
        plan.outputs = {.show_created_files = outputs.truth("showCreatedFiles", true),
                        .show_modified_files = outputs.truth("showModifiedFiles", true),
                        .show_command_runs = outputs.truth("showCommandRuns", true)};
        outputs.refuse_others();
    }
    if (const auto* value = members.find("uiHints")) {
        Members hints(*value, "/uiHints", faults);
        plan.title = hints.text("title");
        plan.summary = hints.text("summary");
        hints.refuse_others();
    }
    members.refuse_others();
    return out;
}

std::expected<Plan, std::vector<Fault>> decode(const json::value& document) {
    auto [plan, faults] = decode_all(document);
    if (!faults.empty()) return std::unexpected(std::move(faults));
    return std::move(plan);
}

std::string plan_hash(const json::value& document) {
    return "sha256:" + base::sha256_hex(base::canonical_json(document));
}

}  // namespace plan
