#include "base/scan/scanner.h"

#include <algorithm>
#include <tuple>

#include "base/scan/engine/encodings.h"
#include "base/scan/known.h"

namespace scan {
namespace {

constexpr std::size_t kClosingBytesMax = 64;  // No closing text of a rule is longer.

}  // namespace

base::Result<std::shared_ptr<const Scanner>> Scanner::make(ScannerOptions options) {
    std::vector<std::string> expressions, names;
    for (const auto& rule : options.rules) {
        expressions.push_back(expression(rule));
        names.push_back("rule " + rule.id);
    }
    auto of_rules = TRY(Matcher::compile(expressions, names, options.prepared));
    std::vector<std::string> needles_of_known;
    std::vector<std::size_t> follow;
    for (const auto& credential : options.known)
        for (auto& needle : needles(credential)) {
            needles_of_known.push_back(std::move(needle.expression));
            follow.push_back(needle.follow);
        }
    auto of_known = TRY(Matcher::compile(
        needles_of_known, std::vector<std::string>(follow.size(), "a known credential")));
    return std::shared_ptr<const Scanner>(new Scanner(std::move(options.rules), std::move(of_rules),
                                                      std::move(of_known), std::move(follow)));
}

Scanner::Scanner(std::vector<Rule> rules, Matcher of_rules, Matcher of_known,
                 std::vector<std::size_t> follow)
    : rules_(std::move(rules)),
      of_rules_(std::move(of_rules)),
      of_known_(std::move(of_known)),
      follow_(std::move(follow)) {
    for (const auto& rule : rules_)
        checks_.push_back(rule.check ? find_check(*rule.check) : nullptr);
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

std::vector<Finding> Scanner::scan(std::string_view text) const {
    std::vector<Finding> found;
    of_rules_.find(text, [&](const Match& match) {
        auto finding = judge_rule(match);
        if (!finding) return;
        if (const auto& until = rules_[match.expression].until) {
            const auto rest = text.substr(finding->end, kUntilBytesMax);
            if (const auto at = rest.find(*until); at != rest.npos)
                finding->end += at + until->size();
        }
        found.push_back(*finding);
    });
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

void Scanner::Stream::feed(std::string_view piece) {
    rules_stream_.feed(piece);
    known_stream_.feed(piece);
    std::erase_if(open_, [&](Open& open) {
        const bool has_ended = follow(open, piece);
        if (has_ended) found_.push_back(open.finding);
        return has_ended;
    });
    offset_ += piece.size();
    last_ += piece.substr(piece.size() - std::min(piece.size(), kClosingBytesMax));
    if (last_.size() > kClosingBytesMax) last_.erase(0, last_.size() - kClosingBytesMax);
}

void Scanner::Stream::finish() {
    rules_stream_.finish();
    known_stream_.finish();
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
