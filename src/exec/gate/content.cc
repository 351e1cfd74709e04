#include "exec/gate/content.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "base/text.h"
#include "exec/gate/joints.h"
#include "exec/gate/payloads.h"

namespace gate {
namespace {

constexpr char kInstructions[] = {
#embed "rules/instructions.json"
};
constexpr char kPayloads[] = {
#embed "rules/payloads.json"
};
constexpr char kReported[] = {
#embed "rules/reported.json"
};

constexpr std::size_t kSentenceBytesMax = 400;  // Checked on each side of a hit.
constexpr std::size_t kExcerptBytes = 60;       // Shown on each side of a hit.
constexpr std::size_t kHitBytesShown = 120;

// How people put it when they report, before and after what is reported.
struct Frames {
    std::vector<std::unique_ptr<re2::RE2>> before, after;
};

const Frames& frames() {
    static const Frames all = [] {
        const auto value = base::parse_json({kReported, sizeof kReported});
        CHECK(value && value->is_object(), "the frames of reported speech can be read");
        Frames made;
        for (auto& [name, list] : {std::pair{"before", &made.before}, {"after", &made.after}})
            for (const auto& text : value->at(name).as_array()) {
                re2::RE2::Options options;
                options.set_case_sensitive(false);
                options.set_log_errors(false);
                const auto& pattern = text.as_string();
                list->push_back(std::make_unique<re2::RE2>(
                    re2::StringPiece(pattern.data(), pattern.size()), options));
                CHECK(list->back()->ok(), "the frames of reported speech are expressions");
            }
        return made;
    }();
    return all;
}

bool matches_any(const std::vector<std::unique_ptr<re2::RE2>>& expressions, std::string_view text) {
    return std::ranges::any_of(expressions, [&](const auto& expression) {
        return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression);
    });
}

// A sentence ends at its mark, and at a line end unless the next line continues in lower case.
bool is_border(std::string_view text, std::size_t at) {
    const char c = text[at];
    if (c == ';') return true;
    const char next = at + 1 < text.size() ? text[at + 1] : '\n';
    if (c == '.' || c == '!' || c == '?')
        return next == ' ' || next == '\n' || next == '"' || next == '\'';
    if (c != '\n') return false;
    return !(next >= 'a' && next <= 'z');
}

std::string_view sentence_before(std::string_view text, std::size_t begin) {
    std::size_t start = begin;
    while (start > 0 && begin - start < kSentenceBytesMax && !is_border(text, start - 1)) --start;
    return text.substr(start, begin - start);
}

std::string_view sentence_after(std::string_view text, std::size_t end) {
    std::size_t stop = end;
    while (stop < text.size() && stop - end < kSentenceBytesMax && !is_border(text, stop)) ++stop;
    return text.substr(end, stop - end);
}

// A name in front of a value, as data has it: `found: `, `- prompt_text = "`, `"detected":"`. It
// names the value and does not report a statement. "README says: " is a sentence.
bool ends_as_label(std::string_view line) {
    static const re2::RE2 kQuoted(R"re(["'][^"'\n]{1,80}["']\s*[:=]\s*["'`]?$)re");
    static const re2::RE2 kBare(
        R"re(^[^\pL\pN_]*[\pL_][\w.\-/]{0,60}(?: ([\w.\-/]{1,30}))?\s*[:=]>?\s*["'`|>]?\s*$)re");
    static const re2::RE2 kVerb(
        "(?i)^(?:says?|said|reads?|asks?|asked|told|tells|claims?|claimed|wants?|wanted|demands?|"
        "demanded|suggests?|suggested|contains?|contained|states?|stated)$");
    const re2::StringPiece piece(line.data(), line.size());
    if (re2::RE2::PartialMatch(piece, kQuoted)) return true;
    re2::StringPiece second;
    return re2::RE2::PartialMatch(piece, kBare, &second) && !re2::RE2::FullMatch(second, kVerb);
}

// How software is built and installed by its name: what manuals tell their readers.
bool is_manual(std::string_view rule, std::string_view text, std::size_t end) {
    if (rule != "run-the-following" && rule != "please-run") return false;
    constexpr std::size_t kCommandBytes = 240;
    const auto after = text.substr(end, kCommandBytes);
    static const re2::RE2 kTool(
        R"re((?i)(?:^|[\s`$>])(?:pip3?|pipx|conda|npm|yarn|pnpm|brew|apt|apt-get|dnf|cargo|make|cmake|ctest|pytest|tox|pre-commit|bundle|gem|mvn|gradle|docker\s+(?:build|run|compose)|go\s+(?:build|test)|python3?\s+-m)\b)re");
    static const re2::RE2 kDanger(
        R"re((?i)https?://|\||&&|;|\$\(|\bcurl\b|\bwget\b|\bbase64\b|\brm\s+-|\bsudo\b|\beval\b)re");
    const re2::StringPiece piece(after.data(), after.size());
    return re2::RE2::PartialMatch(piece, kTool) && !re2::RE2::PartialMatch(piece, kDanger);
}

// A subject line in a history: "1a2b3c4 Update the sandbox policy". It says what was done.
bool is_of_history(std::string_view family, std::string_view text, std::size_t begin) {
    if (family != "policy") return false;
    const auto line_begin = text.substr(0, begin).rfind('\n') + 1;
    static const re2::RE2 kCommit(R"re(^[\s|*/\\]{0,12}(?:commit )?[0-9a-f]{6,40}:?\s)re");
    const auto line = text.substr(line_begin, begin + 1 - line_begin);
    return re2::RE2::PartialMatch({line.data(), line.size()}, kCommit);
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string message_of(std::string_view rule) {
    if (rule == scan::kKnownRule) return "a credential of this runtime is in the text";
    const auto find = [&](const auto& rules) -> const scan::Rule* {
        for (const auto& candidate : rules)
            if (candidate.id == rule) return &candidate;
        return nullptr;
    };
    if (const auto* secret = find(scan::secret_rules()))
        return fmt::format("there is a secret in the text: {}", secret->description);
    const auto* found = find(content_rules());
    return found ? found->description : std::string(rule);
}

}  // namespace

const std::vector<scan::Rule>& content_rules() {
    static const std::vector<scan::Rule> all = [] {
        std::vector<scan::Rule> list;
        for (const auto text : {std::string_view(kInstructions, sizeof kInstructions),
                                std::string_view(kPayloads, sizeof kPayloads)}) {
            auto rules = scan::parse_rules(text);
            CHECK(rules.has_value(), "the rules of the gate can be read");
            std::ranges::move(*rules, std::back_inserter(list));
        }
        return list;
    }();
    return all;
}

scan::ScannerOptions all_rules() {
    scan::ScannerOptions options{.prepared = prepared_rules()};
    options.rules.assign(scan::secret_rules().begin(), scan::secret_rules().end());
    std::ranges::copy(content_rules(), std::back_inserter(options.rules));
    return options;
}

bool is_reported(std::string_view text, std::size_t begin, std::size_t end) {
    // A hit may start with the mark that ends the sentence before it.
    while (begin < end && !is_letter(text[begin])) ++begin;
    const auto before = sentence_before(text, begin);
    const auto line = before.substr(before.rfind('\n') + 1);
    return (!ends_as_label(line) && matches_any(frames().before, before)) ||
           matches_any(frames().after, sentence_after(text, end));
}

namespace {

// Secrets that are split over lines or literals. A finding within one part is reported already.
void find_across_joints(const scan::Scanner& scanner, std::string_view text,
                        std::vector<Hit>& hits) {
    const Joined joined(text);
    if (!joined.has_joints()) return;
    for (const auto& finding : scanner.scan(joined.text())) {
        if (finding.family != "secret" || !joined.spans_joint(finding.begin, finding.end)) continue;
        const auto [begin, end] = joined.original(finding.begin, finding.end);
        const bool is_reported = std::ranges::any_of(hits, [&](const Hit& hit) {
            return hit.finding.family == "secret" && hit.finding.begin < end &&
                   begin < hit.finding.end;
        });
        if (!is_reported)
            hits.push_back({{finding.rule, finding.family, begin, end},
                            "in parts that belong together: " + message_of(finding.rule)});
    }
}

}  // namespace

std::vector<Hit> judge(const scan::Scanner& scanner, std::string_view text, Scope scope) {
    std::vector<Hit> hits;
    for (const auto& finding : scanner.scan(text)) {
        if (scope == Scope::Secrets && finding.family != "secret") continue;
        const bool may_be_reported = finding.family == "instruction" || finding.family == "policy";
        if (may_be_reported && (is_reported(text, finding.begin, finding.end) ||
                                is_manual(finding.rule, text, finding.end) ||
                                is_of_history(finding.family, text, finding.begin)))
            continue;
        hits.push_back({finding, message_of(finding.rule)});
    }
    find_across_joints(scanner, text, hits);
    const auto payloads =
        find_payloads(text, [&](std::string_view decoded, std::size_t begin, std::size_t end) {
            for (const auto& finding : scanner.scan(decoded)) {
                if (scope == Scope::Secrets && finding.family != "secret") continue;
                const scan::Finding here{finding.rule, finding.family, begin, end};
                // A known credential is also found in its encoded form.
                if (std::ranges::any_of(hits, [&](const Hit& hit) {
                        return hit.finding.rule == here.rule && hit.finding.begin < here.end &&
                               here.begin < hit.finding.end;
                    }))
                    continue;
                hits.push_back({here, "behind an encoding: " + message_of(finding.rule)});
            }
        });
    if (scope == Scope::Everything)
        for (const auto& payload : payloads)
            hits.push_back({{payload.rule, "payload", payload.begin, payload.end},
                            fmt::format("{} is embedded in the text", payload.description)});
    // In the order of the text: an excerpt removes them one after the other.
    std::ranges::sort(hits, {}, [](const Hit& hit) {
        return std::tuple(hit.finding.begin, hit.finding.end, hit.finding.rule);
    });
    return hits;
}

std::string excerpt(std::string_view text, const scan::Finding& finding,
                    const std::vector<Hit>& hits) {
    const std::size_t begin = finding.begin, end = std::min<std::size_t>(finding.end, text.size());
    std::size_t from = begin > kExcerptBytes ? begin - kExcerptBytes : 0;
    if (const auto newline = text.substr(from, begin - from).rfind('\n'); newline != text.npos)
        from += newline + 1;
    std::size_t to = std::min(text.size(), std::min(end, begin + kHitBytesShown) + kExcerptBytes);
    if (const auto newline = text.find('\n', std::min(end, to)); newline < to) to = newline;
    std::string out;
    std::size_t at = from;
    for (const auto& hit : hits) {
        if (hit.finding.end <= at || hit.finding.begin >= to) continue;
        if (hit.finding.begin > at) out += text.substr(at, hit.finding.begin - at);
        out += fmt::format("[{}]", hit.finding.rule);
        at = std::min<std::size_t>(hit.finding.end, to);
    }
    if (at < to) out += text.substr(at, to - at);
    return base::printable(base::to_utf8(out));
}

}  // namespace gate
