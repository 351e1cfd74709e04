#include "base/scan/scanner.h"

#include <algorithm>
#include <tuple>

#include "base/scan/encodings.h"
#include "base/scan/known.h"

namespace scan {
namespace {

constexpr std::size_t kClosingBytesMax = 64;  // No closing text of a rule is longer.

}  // namespace

base::Result<std::shared_ptr<const Scanner>> Scanner::make(ScannerOptions options) {
    std::shared_ptr<Scanner> made(new Scanner);
    made->rules_ = std::move(options.rules);
    std::vector<std::string> expressions, names;
    for (const auto& rule : made->rules_) {
        expressions.push_back(expression(rule));
        names.push_back("rule " + rule.id);
        made->sources_.push_back(
            {.rule = &rule, .check = rule.check ? find_check(*rule.check) : nullptr});
    }
    for (const auto& credential : options.known)
        for (auto& needle : needles(credential)) {
            expressions.push_back(std::move(needle.expression));
            names.push_back("a known credential");
            made->sources_.push_back({.follow = needle.follow});
        }
    made->matcher_.emplace(TRY(Matcher::compile(expressions, names)));
    return made;
}

std::optional<Finding> Scanner::judge(const Match& match) const {
    const Source& source = sources_[match.expression];
    if (!source.rule) return Finding{kKnownRule, "secret", match.begin, match.end + source.follow};
    const Rule& rule = *source.rule;
    if (rule.entropy > 0 && (entropy(match.value) < rule.entropy || is_placeholder(match.value)))
        return std::nullopt;
    if (source.check && !source.check(match.value)) return std::nullopt;
    return Finding{rule.id, rule.family, match.begin, match.end};
}

std::vector<Finding> Scanner::scan(std::string_view text) const {
    std::vector<Finding> found;
    matcher_->find(text, [&](const Match& match) {
        auto finding = judge(match);
        if (!finding) return;
        finding->end = std::min<std::uint64_t>(finding->end, text.size());
        const Rule* rule = sources_[match.expression].rule;
        if (rule && rule->until) {
            const auto rest = text.substr(finding->end, kUntilBytesMax);
            if (const auto at = rest.find(*rule->until); at != rest.npos)
                finding->end += at + rule->until->size();
        }
        found.push_back(*finding);
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
    : scanner_(scanner), stream_(*scanner.matcher_, [this](const Match& match) {
          auto finding = scanner_.judge(match);
          if (!finding) return;
          const Rule* rule = scanner_.sources_[match.expression].rule;
          if (rule && rule->until)
              open_.push_back({*finding, *rule->until});
          else
              found_.push_back(*finding);
      }) {}

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
    stream_.feed(piece);
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
    stream_.finish();
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
