#include "base/scan/rule.h"

#include "base/scan/engine/checks.h"

namespace scan {

using base::ErrorCode;
using base::fail;

namespace {

constexpr char kCode[] = {
#embed "rules/code.json"
};
constexpr char kModels[] = {
#embed "rules/models.json"
};
constexpr char kCloud[] = {
#embed "rules/cloud.json"
};
constexpr char kPayments[] = {
#embed "rules/payments.json"
};
constexpr char kServices[] = {
#embed "rules/services.json"
};
constexpr char kGeneric[] = {
#embed "rules/generic.json"
};

template <std::size_t N>
constexpr std::string_view embedded(const char (&bytes)[N]) {
    return {bytes, N};
}

base::Status check_rule(const Rule& rule) {
    const bool has_value = rule.value.has_value() || rule.by_name;
    if (rule.pattern.has_value() == has_value ||
        has_value == (rule.keywords.empty() && rule.prefixes.empty()))
        return fail(ErrorCode::InvalidInput,
                    "rule {} needs either a pattern, or keywords and a value", rule.id);
    if ((rule.ending || rule.core) && (!rule.pattern || (rule.ending && rule.core)))
        return fail(ErrorCode::InvalidInput,
                    "rule {} may have an ending or a core, and only with a pattern", rule.id);
    if (rule.check && !find_check(*rule.check))
        return fail(ErrorCode::InvalidInput, "rule {} names a check '{}' that there is none of",
                    rule.id, *rule.check);
    return {};
}

}  // namespace

base::Result<std::vector<Rule>> parse_rules(std::string_view text) {
    auto rules =
        TRY(base::from_json<std::vector<Rule>>(TRY(base::parse_json(text)), base::Unknown::Reject));
    for (const auto& rule : rules) TRY(check_rule(rule));
    return rules;
}

std::span<const Rule> secret_rules() {
    static const std::vector<Rule> all = [] {
        std::vector<Rule> list;
        for (const auto text : {embedded(kCode), embedded(kModels), embedded(kCloud),
                                embedded(kPayments), embedded(kServices), embedded(kGeneric)}) {
            auto rules = parse_rules(text);
            CHECK(rules.has_value(), "the built-in rules can be read");
            std::ranges::move(*rules, std::back_inserter(list));
        }
        return list;
    }();
    return all;
}

std::string literal(std::string_view text) {
    std::string out;
    for (const char c : text) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    return out;
}

bool is_looked_around(const Rule& rule) {
    return rule.core || !rule.keywords.empty() || !rule.prefixes.empty();
}

Sought sought(const Rule& rule) {
    Sought made{.name = "rule " + rule.id,
                .wanted = is_looked_around(rule) ? Wanted::End : Wanted::Bounds};
    if (rule.pattern) {
        made.expression = *rule.pattern;
        made.ending = rule.core ? rule.core : rule.ending;
        return made;
    }
    const bool has_prefixes = !rule.prefixes.empty();
    std::string names;
    for (const auto& word : has_prefixes ? rule.prefixes : rule.keywords)
        names += (names.empty() ? "" : "|") + literal(word);
    made.expression = fmt::format("(?{}:{})", has_prefixes ? "" : "i", names);
    return made;
}

std::string example(std::string_view text) {
    constexpr std::string_view kMark = "¦";
    std::string out(text);
    for (auto at = out.find(kMark); at != out.npos; at = out.find(kMark, at))
        out.erase(at, kMark.size());
    return out;
}

}  // namespace scan
