// What a rule is, and the rules that come with the program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scan/engine/matcher.h"
#include "base/typed.h"

namespace scan {

// Bytes on each side of the end of a core within which its pattern matches.
inline constexpr std::size_t kCoreReach = 128;

// Either a `pattern`, whose first group is the value, or `keywords` with the shape of a `value`
// that is given to a name holding one of them, in any syntax that assign/assigned.h reads:
// KEYWORD_TOKEN=value, "keyword": "value"; or `prefixes` of a token with that shape. With `by_name`
// name and value are judged together. Patterns are what Vectorscan and RE2 both read, over bytes,
// and match at most kMatchBytesMax.
//
// A few patterns cost Vectorscan more than all others together. These say what each match has in it
// that is cheap to find, its `ending` or a `core` of it; the pattern is tried there only. It means
// the same with and without them.
struct Rule {
    std::string id;
    std::string description;
    std::string family{"secret"};
    std::optional<std::string> pattern{};
    std::optional<std::string> ending{};
    std::optional<std::string> core{};  // Of a pattern that matches at most kCoreReach bytes.
    std::vector<std::string> keywords{};
    std::vector<std::string> prefixes{};  // Of tokens that have the shape of `value`.
    std::optional<std::string> value{};
    bool by_name{false};
    bool yields{false};                  // Of what another rule finds, it reports nothing.
    std::optional<std::string> until{};  // The value extends to this text, when it follows soon.
    double entropy{0};                   // Bits per byte that the value has at least.
    std::optional<std::string> check{};  // A name in checks.h that the value passes.
    std::vector<std::string> good{};     // Texts in which it finds something, for tests.
    std::vector<std::string> bad{};      // Texts in which it finds nothing.
};
BOOST_DESCRIBE_STRUCT(Rule, (),
                      (id, description, family, pattern, ending, core, keywords, prefixes, value,
                       by_name, yields, until, entropy, check, good, bad))
constexpr auto describe_fields(const Rule*) {
    return std::to_array<base::FieldDoc>({{.field = "family", .has_default = true},
                                          {.field = "keywords", .has_default = true},
                                          {.field = "prefixes", .has_default = true},
                                          {.field = "by_name", .has_default = true},
                                          {.field = "yields", .has_default = true},
                                          {.field = "entropy", .has_default = true},
                                          {.field = "good", .has_default = true},
                                          {.field = "bad", .has_default = true}});
}

// Rules from JSON text, a list of objects. An unknown member, a rule that is neither of the two
// kinds, or an unknown check is an error that names it.
base::Result<std::vector<Rule>> parse_rules(std::string_view text);

// The rules for secrets that are built in. Read once; safe from any thread.
std::span<const Rule> secret_rules();
// The engine of just these, built with the program: for ScannerOptions::prepared.
std::string_view prepared_secret_rules();

// What the engines look for. That of keywords and cores is where one ends.
Sought sought(const Rule& rule);

// Whether what is found by its expression is only where to look for a value.
bool is_looked_around(const Rule& rule);

// `text` so that an expression matches just it.
std::string literal(std::string_view text);

// An example of a rule as it is meant: without the marks that keep it from being found in its file.
std::string example(std::string_view text);

}  // namespace scan
