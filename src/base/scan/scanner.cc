#include "base/scan/scanner.h"

#include <re2/re2.h>

#include <algorithm>
#include <tuple>

#include "base/scan/engine/characters.h"
#include "base/scan/engine/encodings.h"
#include "base/scan/known.h"

namespace scan {
namespace {

constexpr std::size_t kClosingBytesMax = 64;  // No closing text of a rule is longer.
// A keyword that is reported with the next piece may have begun in this one.
constexpr std::uint64_t kKeptForNames = 2 * kNameBytesMax;
constexpr std::size_t kFedBytesMax = std::size_t{1} << 20;  // Of a stream, at a time.

bool is_token_char(char c) {
    return is_ascii_letter(c) || is_ascii_digit(c) || std::string_view("_.~+/-").contains(c);
}

// The token that begins with the prefix that ends at `prefix_end`; empty when it begins before it.
std::string_view token_at(std::string_view text, std::size_t prefix_end, const Rule& rule) {
    std::size_t begin = prefix_end;
    while (begin > 0 && prefix_end - begin < kNameBytesMax && is_token_char(text[begin - 1]))
        --begin;
    const auto prefix = text.substr(begin, prefix_end - begin);
    // Behind an equals sign it is a digest more often than not: sha256=…
    if (std::ranges::find(rule.prefixes, prefix) == rule.prefixes.end() ||
        (begin > 0 && text[begin - 1] == '='))
        return {};
    std::size_t end = prefix_end;
    while (end < text.size() && end - begin < kAssignedBytesMax && is_token_char(text[end])) ++end;
    while (end < text.size() && text[end] == '=' && end - begin < kAssignedBytesMax) ++end;
    return text.substr(begin, end - begin);
}

// What tells a value of the rule from others, for those that are looked around.
// Behind the line end at `at` and the blanks that follow; `at` when there is none.
std::size_t behind_line_end(std::string_view text, std::size_t at) {
    constexpr std::size_t kIndentMax = 16;
    const auto rest = text.substr(at);
    std::size_t next = at + (rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0);
    if (next == at) return at;
    const std::size_t limit = std::min(text.size(), next + kIndentMax);
    while (next < limit && text[next] == ' ') ++next;
    return next;
}

base::Result<std::unique_ptr<re2::RE2>> shape_of(const Rule& rule) {
    const auto& text = rule.core ? rule.pattern : rule.value;
    if (!text) return nullptr;
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_log_errors(false);
    auto shape = std::make_unique<re2::RE2>(*text, options);
    if (!shape->ok())
        return base::fail(base::ErrorCode::InvalidInput, "the value of rule {} cannot be used: {}",
                          rule.id, shape->error());
    return shape;
}

}  // namespace

base::Result<std::shared_ptr<const Scanner>> Scanner::make(ScannerOptions options) {
    std::vector<Sought> by_rules, by_value;
    std::vector<std::unique_ptr<re2::RE2>> shapes;
    for (const auto& rule : options.rules) {
        by_rules.push_back(sought(rule));
        shapes.push_back(TRY(shape_of(rule)));
    }
    std::optional<Matcher> of_secrets;
    if (!options.prepared_secrets.empty()) {
        std::vector<Sought> secrets;
        for (std::size_t i = 0; i < by_rules.size() && options.rules[i].family == "secret"; ++i)
            secrets.push_back(by_rules[i]);
        of_secrets.emplace(TRY(Matcher::compile(std::move(secrets), options.prepared_secrets)));
    }
    auto of_rules = TRY(Matcher::compile(std::move(by_rules), options.prepared));
    std::vector<std::size_t> follow;
    for (const auto& credential : options.known)
        for (auto& needle : needles(credential)) {
            by_value.push_back(
                {.name = "a known credential", .expression = std::move(needle.expression)});
            follow.push_back(needle.follow);
        }
    auto of_known = TRY(Matcher::compile(std::move(by_value)));
    return std::shared_ptr<const Scanner>(new Scanner(
        std::move(options.rules), {std::move(of_rules), std::move(of_known), std::move(of_secrets)},
        std::move(follow), std::move(shapes)));
}

Scanner::Scanner(std::vector<Rule> rules, Matchers matchers, std::vector<std::size_t> follow,
                 std::vector<std::unique_ptr<re2::RE2>> shapes)
    : rules_(std::move(rules)),
      shapes_(std::move(shapes)),
      of_rules_(std::move(matchers.rules)),
      of_known_(std::move(matchers.known)),
      of_secrets_(std::move(matchers.secrets)),
      follow_(std::move(follow)) {
    for (const auto& rule : rules_) {
        checks_.push_back(rule.check ? find_check(*rule.check) : nullptr);
        has_keywords_ = has_keywords_ || is_looked_around(rule);
        if (rule.yields) yielding_.push_back(rule.id);
    }
}

Scanner::~Scanner() = default;

std::optional<Finding> Scanner::judge_around_core(std::size_t rule, std::string_view text,
                                                  std::size_t core_end) const {
    const std::size_t from = core_end > kCoreReach ? core_end - kCoreReach : 0;
    const std::string_view around = text.substr(from, core_end - from + kCoreReach);
    const re2::RE2& pattern = *shapes_[rule];
    re2::StringPiece groups[2];
    const int wanted = pattern.NumberOfCapturingGroups() > 0 ? 2 : 1;
    for (std::size_t at = 0; pattern.Match({around.data(), around.size()}, at, around.size(),
                                           re2::RE2::UNANCHORED, groups, wanted);) {
        const auto offset = [&](const re2::StringPiece& piece) {
            return static_cast<std::size_t>(piece.data() - around.data());
        };
        at = offset(groups[0]) + groups[0].size();
        if (from + at < core_end) continue;  // Another one before it, with a core of its own.
        const auto& value = groups[wanted - 1];
        const std::uint64_t begin = from + offset(value);
        return judge_rule({rule, begin, begin + value.size(), {value.data(), value.size()}});
    }
    return std::nullopt;
}

std::optional<Finding> Scanner::judge_around(std::size_t rule, std::string_view text,
                                             std::size_t keyword_end) const {
    const Rule& by = rules_[rule];
    if (by.core) return judge_around_core(rule, text, keyword_end);
    std::optional<Finding> found;
    const auto judge = [&](const Assigned& assigned) {
        const auto value = assigned.value;
        if (by.entropy > 0 && entropy(value) < by.entropy) return false;
        if (by.by_name && !is_assigned_secret(assigned)) return false;
        if (shapes_[rule] &&
            !re2::RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *shapes_[rule]))
            return false;
        const auto begin = static_cast<std::uint64_t>(value.data() - text.data());
        found = judge_rule({rule, begin, begin + value.size(), value});
        return found.has_value();
    };
    if (by.prefixes.empty()) {
        visit_assigned(text, keyword_end, judge);
        return found;
    }
    const auto token = token_at(text, keyword_end, by);
    if (token.empty()) return std::nullopt;
    // What is on its first line may be enough to be found by itself.
    if (auto over_lines = judge_over_lines(text, token)) return over_lines;
    judge({.name = {}, .value = token});
    return found;
}

std::optional<Finding> Scanner::judge_over_lines(std::string_view text,
                                                 std::string_view first) const {
    // Less than this of a token, on its first line or a later one, is a word.
    constexpr std::size_t kPartBytesMin = 4;
    constexpr std::size_t kTokenBytesMin = 20;
    constexpr std::size_t kLinesMax = 4;
    constexpr double kBitsMin = 3;
    const auto begin = static_cast<std::size_t>(first.data() - text.data());
    std::size_t end = begin + first.size();
    std::string token(first);
    for (std::size_t line = 1; line < kLinesMax; ++line) {
        const std::size_t next = behind_line_end(text, end);
        std::size_t part_end = next;
        while (part_end < text.size() && part_end - next < kAssignedBytesMax &&
               is_token_char(text[part_end]))
            ++part_end;
        const std::size_t part = part_end - next;
        if (next == end || part < kPartBytesMin || part_end - begin > kAssignedBytesMax) break;
        token += text.substr(next, part);
        end = part_end;
        if (token.size() < kTokenBytesMin || entropy(token) < kBitsMin) continue;
        std::optional<Finding> found;
        of_rules_.find(token, [&](const Match& match) {
            const Rule& rule = rules_[match.expression];
            const bool is_whole = match.begin < first.size() && match.end > token.size() - part;
            if (!found && is_whole && rule.family == "secret" && !rule.yields &&
                !is_looked_around(rule))
                found = judge_rule(match);
        });
        if (!found) continue;
        found->begin += begin;
        found->end = end - (token.size() - found->end);
        return found;
    }
    return std::nullopt;
}

std::optional<Finding> Scanner::judge_rule(const Match& match) const {
    const Rule& rule = rules_[match.expression];
    if (rule.entropy > 0 && (entropy(match.value) < rule.entropy || is_placeholder(match.value)))
        return std::nullopt;
    const Check check = checks_[match.expression];
    if (check && !check(match.value)) return std::nullopt;
    return Finding{rule.id, rule.family, match.begin, match.end};
}

Finding Scanner::judge_known(const Match& match) const {
    return {kKnownRule, "secret", match.begin, match.end + follow_[match.expression]};
}

// A rule for a vendor says more than one that knows names only.
void Scanner::drop_yielding(std::vector<Finding>& found) const {
    const auto yields = [&](const Finding& finding) {
        return std::ranges::find(yielding_, finding.rule) != yielding_.end();
    };
    const auto yielding = std::ranges::partition(found, std::not_fn(yields));
    std::vector<Finding> firm(found.begin(), yielding.begin());
    if (firm.empty() || yielding.empty()) return;
    std::ranges::sort(firm, {}, &Finding::begin);
    std::uint64_t reached = 0;  // So that a binary search by beginning finds every overlap.
    for (auto& finding : firm) reached = finding.end = std::max(finding.end, reached);
    found.erase(
        std::remove_if(yielding.begin(), yielding.end(),
                       [&](const Finding& finding) {
                           const auto next =
                               std::ranges::lower_bound(firm, finding.end, {}, &Finding::begin);
                           return next != firm.begin() && std::prev(next)->end > finding.begin;
                       }),
        found.end());
}

std::vector<Finding> Scanner::scan(std::string_view text, Part part) const {
    std::vector<Finding> found;
    const bool is_all = part == Part::All;
    const Matcher& matcher = !is_all && of_secrets_ ? *of_secrets_ : of_rules_;
    matcher.find(text, [&](const Match& match) {
        if (!is_all && rules_[match.expression].family != "secret") return;
        if (is_looked_around(rules_[match.expression])) {
            if (auto finding = judge_around(match.expression, text, match.end))
                found.push_back(*finding);
            return;
        }
        auto finding = judge_rule(match);
        if (!finding) return;
        if (const auto& until = rules_[match.expression].until) {
            const auto rest = text.substr(finding->end, kUntilBytesMax);
            if (const auto at = rest.find(*until); at != rest.npos)
                finding->end += at + until->size();
        }
        found.push_back(*finding);
    });
    drop_yielding(found);
    of_known_.find(text, [&](const Match& match) {
        Finding finding = judge_known(match);
        finding.end = std::min<std::uint64_t>(finding.end, text.size());
        found.push_back(finding);
    });
    return merged(std::move(found));
}

std::vector<Finding> merged(std::vector<Finding> findings) {
    std::ranges::sort(findings, {},
                      [](const Finding& f) { return std::tuple(f.rule, f.begin, f.end); });
    std::vector<Finding> list;
    for (const auto& finding : findings) {
        if (!list.empty() && list.back().rule == finding.rule && finding.begin <= list.back().end)
            list.back().end = std::max(list.back().end, finding.end);
        else
            list.push_back(finding);
    }
    std::ranges::sort(list, {}, [](const Finding& f) { return std::tuple(f.begin, f.rule); });
    return list;
}

Scanner::Stream::Stream(const Scanner& scanner)
    : scanner_(scanner),
      rules_stream_(scanner.of_rules_,
                    [this](const Match& match) {
                        if (is_looked_around(scanner_.rules_[match.expression])) {
                            keywords_.push_back({match.expression, match.end});
                            return;
                        }
                        auto finding = scanner_.judge_rule(match);
                        if (!finding) return;
                        if (const auto& until = scanner_.rules_[match.expression].until)
                            open_.push_back({*finding, *until});
                        else
                            found_.push_back(*finding);
                    }),
      known_stream_(scanner.of_known_,
                    [this](const Match& match) { found_.push_back(scanner_.judge_known(match)); }) {
}

// The closing text may follow in this piece, also when the value began in it.
bool Scanner::Stream::follow(Open& open, std::string_view piece) const {
    const std::uint64_t first = offset_ - last_.size();  // Where `border` is.
    const std::uint64_t limit = open.finding.end + kUntilBytesMax;
    const auto find_in = [&](std::string_view text, std::uint64_t at) {
        const std::uint64_t from = std::max(open.finding.end, at);
        if (from - at >= text.size()) return false;
        const auto found =
            text.substr(0, limit + open.until.size() - at).find(open.until, from - at);
        if (found == text.npos) return false;
        open.finding.end = at + found + open.until.size();
        return true;
    };
    const std::string border = last_ + std::string(piece.substr(0, kClosingBytesMax));
    return find_in(border, first) || find_in(piece, offset_) || offset_ + piece.size() > limit;
}

void Scanner::Stream::read_assigned(bool at_end) {
    const std::uint64_t first = offset_ - recent_.size();  // Where recent_ begins.
    std::size_t done = 0;
    for (; done < keywords_.size(); ++done) {
        const auto [rule, end] = keywords_[done];
        if (!at_end && end + kAssignedBytesMax > offset_) break;
        auto finding = scanner_.judge_around(rule, recent_, end - first);
        if (!finding) continue;
        finding->begin += first;
        finding->end += first;
        found_.push_back(*finding);
    }
    keywords_.erase(keywords_.begin(), keywords_.begin() + static_cast<std::ptrdiff_t>(done));
    const std::uint64_t open = keywords_.empty() ? offset_ : keywords_.front().end;
    if (open > first + kKeptForNames) recent_.erase(0, open - first - kKeptForNames);
}

void Scanner::Stream::feed(std::string_view piece) {
    for (; piece.size() > kFedBytesMax; piece.remove_prefix(kFedBytesMax))
        feed(piece.substr(0, kFedBytesMax));
    rules_stream_.feed(piece);
    known_stream_.feed(piece);
    std::erase_if(open_, [&](Open& open) {
        const bool has_ended = follow(open, piece);
        if (has_ended) found_.push_back(open.finding);
        return has_ended;
    });
    offset_ += piece.size();
    recent_ += piece;
    read_assigned(false);
    last_ += piece.substr(piece.size() - std::min(piece.size(), kClosingBytesMax));
    if (last_.size() > kClosingBytesMax) last_.erase(0, last_.size() - kClosingBytesMax);
}

void Scanner::Stream::finish() {
    rules_stream_.finish();
    known_stream_.finish();
    read_assigned(true);
    for (const auto& open : open_) found_.push_back(open.finding);
    open_.clear();
}

std::vector<Finding> Scanner::Stream::take() {
    return merged(std::exchange(found_, {}));
}

std::optional<std::uint64_t> Scanner::Stream::open_at() const {
    std::optional<std::uint64_t> first;
    for (const auto& open : open_)
        first = std::min(first.value_or(open.finding.begin), open.finding.begin);
    return first;
}

}  // namespace scan
