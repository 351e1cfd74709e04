#include "exec/gate/content.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "base/text.h"
#include "exec/gate/text/honest.h"
#include "exec/gate/text/joints.h"
#include "exec/gate/text/outline.h"
#include "exec/gate/text/payloads.h"

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
    scan::ScannerOptions options{.prepared = prepared_rules(),
                                 .prepared_secrets = scan::prepared_secret_rules()};
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

// Where hits of one name are. They are added in the order of their beginnings.
class Spans {
public:
    void add(std::string_view name, std::uint64_t begin, std::uint64_t end) {
        auto& list = spans_[name];
        // Each end is that of the furthest up to there, so that one search finds every overlap.
        list.emplace_back(begin, std::max(end, list.empty() ? 0 : list.back().second));
    }
    bool overlap(std::string_view name, std::uint64_t begin, std::uint64_t end) const {
        const auto found = spans_.find(name);
        if (found == spans_.end()) return false;
        const auto& list = found->second;
        const auto next = std::ranges::lower_bound(list, end, {},
                                                   &std::pair<std::uint64_t, std::uint64_t>::first);
        return next != list.begin() && std::prev(next)->second > begin;
    }

private:
    std::map<std::string_view, std::vector<std::pair<std::uint64_t, std::uint64_t>>> spans_;
};

// What was behind encodings, to be scanned in one go: most of it is a few words.
class DecodedTexts {
public:
    void add(std::string_view decoded, std::size_t begin, std::size_t end) {
        parts_.push_back({all_.size(), all_.size() + decoded.size(), begin, end});
        all_ += decoded;
        all_ += kBetween;
    }

    // Visits each finding with the place of the run that it was found behind.
    template <class Visit>
    void scan(const scan::Scanner& scanner, const Visit& visit) const {
        for (const auto& finding : scanner.scan(all_)) {
            const auto last =
                std::prev(std::ranges::upper_bound(parts_, finding.end - 1, {}, &Part::from));
            const auto first =
                std::prev(std::ranges::upper_bound(parts_, finding.begin, {}, &Part::from));
            if (first == last && finding.end <= first->to) {
                visit(finding, first->begin, first->end);
                continue;
            }
            // It goes from one text into the next, which are not next to each other.
            for (auto part = first; part <= last; ++part)
                for (const auto& own : scanner.scan(all_.substr(part->from, part->to - part->from)))
                    if (own.rule == finding.rule) visit(own, part->begin, part->end);
        }
    }

private:
    static constexpr std::string_view kBetween = "\n\x01\n";
    struct Part {
        std::size_t from, to;    // In all_.
        std::size_t begin, end;  // The run in the text that is judged.
    };
    std::string all_;
    std::vector<Part> parts_;
};

class Judge {
public:
    Judge(const scan::Scanner& scanner, std::string_view text, const Reading& reading)
        : scanner_(scanner), text_(text), reading_(reading), outline_(text), history_(text) {}

    std::vector<Hit> hits() {
        for (const auto& finding : scanner_.scan(text_, part())) {
            if (!counts(finding)) continue;
            hits_.push_back({finding, message_of(finding.rule)});
            by_rule_.add(finding.rule, finding.begin, finding.end);
            by_family_.add(finding.family, finding.begin, finding.end);
        }
        find_across_joints();
        find_behind_encodings();
        return std::move(hits_);
    }

private:
    bool counts(const scan::Finding& finding) {
        if (finding.family == "secret") return true;
        if (reading_.scope == Scope::Secrets || hits_.size() >= kHitsMax ||
            is_in_command(finding.begin) || is_local_address(finding))
            return false;
        const bool may_be_reported = finding.family == "instruction" || finding.family == "policy";
        return !may_be_reported || !(is_reported(text_, finding.begin, finding.end) ||
                                     is_ordinary(text_, finding) || history_.reports(finding));
    }

    // "npx tunnel http://localhost:3000": what is applied is the reader's own.
    bool is_local_address(const scan::Finding& finding) const {
        if (finding.rule != "apply-from-url") return false;
        const auto address = text_.substr(finding.end);
        // "localhost:x@evil.test" is a user at another host.
        if (address.substr(0, address.find_first_of("/ \t\r\n")).contains('@')) return false;
        return std::ranges::any_of(
            std::to_array<std::string_view>({"localhost", "127.0.0.1", "0.0.0.0", "[::1]"}),
            [&](std::string_view host) {
                return address.starts_with(host) && address.size() > host.size() &&
                       std::string_view(":/ \n").contains(address[host.size()]);
            });
    }

    scan::Part part() const {
        return reading_.scope == Scope::Secrets ? scan::Part::Secrets : scan::Part::All;
    }

    bool is_in_command(std::uint64_t at) const {
        return at >= reading_.command_begin && at < reading_.command_end;
    }

    // Secrets that are split over lines or literals. A finding within one part is reported already.
    void find_across_joints() {
        const Joined joined(text_, outline_);
        if (!joined.has_joints()) return;
        for (const auto& finding : scanner_.scan(joined.text(), scan::Part::Secrets)) {
            if (!joined.spans_joint(finding.begin, finding.end)) continue;
            const auto [begin, end] = joined.original(finding.begin, finding.end);
            if (!by_family_.overlap("secret", begin, end))
                hits_.push_back({{finding.rule, finding.family, begin, end},
                                 "in parts that belong together: " + message_of(finding.rule)});
        }
    }

    void find_behind_encodings() {
        DecodedTexts texts;
        const auto payloads = find_payloads(
            text_, outline_, [&](std::string_view decoded, std::size_t begin, std::size_t end) {
                texts.add(decoded, begin, end);
            });
        std::set<std::tuple<std::size_t, std::string_view>> seen;  // Encodings may be in encodings.
        texts.scan(scanner_, [&](const scan::Finding& found, std::size_t begin, std::size_t end) {
            const bool is_secret = found.family == "secret";
            if (!is_secret && (reading_.scope == Scope::Secrets || is_in_command(begin))) return;
            // A known credential is also found in its encoded form.
            if (by_rule_.overlap(found.rule, begin, end) || !seen.emplace(begin, found.rule).second)
                return;
            hits_.push_back({{found.rule, found.family, begin, end},
                             "behind an encoding: " + message_of(found.rule)});
        });
        if (reading_.scope == Scope::Secrets) return;
        for (const auto& payload : payloads)
            if (!is_in_command(payload.begin))
                hits_.push_back({{payload.rule, "payload", payload.begin, payload.end},
                                 fmt::format("{} is embedded in the text", payload.description)});
    }

    const scan::Scanner& scanner_;
    std::string_view text_;
    const Reading& reading_;
    const Outline outline_;
    History history_;
    std::vector<Hit> hits_;
    Spans by_rule_, by_family_;
};

// Windows overlap by two of these: a hit is in the middle of one of them, with its surroundings.
constexpr std::size_t kWindowMargin = scan::kMatchBytesMax + 2 * kSentenceBytesMax;
// The first is small, because hostile text often needs no second.
constexpr std::size_t kWindowBytesMin = std::size_t{256} << 10;
constexpr std::size_t kWindowBytesMax = std::size_t{1} << 20;  // It stays in the cache.

}  // namespace

std::vector<Hit> judge(const scan::Scanner& scanner, std::string_view text,
                       const Reading& reading) {
    std::vector<Hit> hits;
    std::size_t begin = 0, size = kWindowBytesMin;
    const auto within = [&](std::size_t at) { return at > begin ? at - begin : 0; };
    for (bool at_end = false; !at_end && hits.size() < kHitsMax;) {
        at_end = text.size() - begin <= size;
        const auto window = text.substr(begin, size);
        const Reading here{reading.scope, within(reading.command_begin),
                           within(reading.command_end)};
        for (auto& hit : Judge(scanner, window, here).hits()) {
            const bool is_before = begin > 0 && hit.finding.begin < kWindowMargin;
            const bool is_behind = !at_end && hit.finding.begin >= size - kWindowMargin;
            if (is_before || is_behind) continue;
            hit.finding.begin += begin;
            hit.finding.end += begin;
            hits.push_back(std::move(hit));
        }
        begin += size - 2 * kWindowMargin;
        size = std::min(2 * size, kWindowBytesMax);
    }
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
