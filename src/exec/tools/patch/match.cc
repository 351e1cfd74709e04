#include "exec/tools/patch/match.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "exec/tools/patch/file_lines.h"

namespace patch {
namespace {

constexpr std::size_t kWindowMin = 20;
constexpr std::size_t kNearbyLines = 5;
constexpr std::size_t kCandidatesReported = 10;
constexpr std::size_t kCandidateLines = 2;
constexpr std::size_t kExpectedLines = 3;

struct Added {
    std::string_view text{};
    Ending ending{Ending::Lf};
};

std::vector<Line> old_block(const Hunk& hunk) {
    std::vector<Line> block;
    std::ranges::copy_if(hunk.lines, std::back_inserter(block),
                         [](const Line& line) { return line.kind != LineKind::Add; });
    return block;
}

json::string expected_lines(const std::vector<Line>& block) {
    std::string joined;
    for (std::size_t i = 0; i < std::min(block.size(), kExpectedLines); ++i) {
        if (i > 0) joined += '\n';
        joined += std::string_view(preview(block[i].text));
    }
    return json::string(joined);
}

struct LineSpan {
    std::size_t begin{0};
    std::size_t end{0};
    json::object range() const { return {{"start", begin + 1}, {"end", end}}; }
};

struct Places {
    std::size_t count{0};
    std::vector<std::size_t> first{};  // At most kCandidatesReported.
};

class Matcher {
public:
    Matcher(std::string_view file, std::string_view path, std::size_t comparisons_max)
        : file_(file),
          path_(path),
          removed_(file_.size(), false),
          comparisons_max_(comparisons_max) {}

    Outcome<void> apply(const Hunk& hunk) {
        const auto block = old_block(hunk);
        const std::size_t start =
            block.empty() ? TRY(insertion_point(hunk)) : TRY(find(hunk, block));
        record(hunk, block, start);
        return {};
    }

    std::string build();

private:
    Outcome<std::size_t> insertion_point(const Hunk& hunk) const {
        if (hunk.final_newline) return file_.size();
        if (file_.size() == 0) return 0;
        const std::size_t point =
            hunk.inserts_after || hunk.old_start == 0 ? hunk.old_start : hunk.old_start - 1;
        if (point > file_.size()) return not_found(hunk, {});
        return point;
    }

    Outcome<std::size_t> find(const Hunk& hunk, const std::vector<Line>& block) {
        if (block.size() > file_.size()) return not_found(hunk, block);
        const std::size_t last = file_.size() - block.size();
        if (hunk.final_newline) {
            if (!fits(block, last)) return not_found(hunk, block);
            return last;
        }
        const std::size_t reach = std::max(kWindowMin, 2 * block.size());
        const std::size_t hint = hint_of(hunk);
        const auto near =
            all_fits(block, hint - std::min(hint, reach), std::min(last, hint + reach));
        if (comparisons_ > comparisons_max_) return too_much_work();
        if (near.count == 1) return near.first.front();
        const auto all = all_fits(block, 0, last);
        if (comparisons_ > comparisons_max_) return too_much_work();
        if (all.count == 0) return not_found(hunk, block);
        if (all.count > 1) return ambiguous(hunk, block, all);
        return all.first.front();
    }

    static std::size_t hint_of(const Hunk& hunk) {
        return hunk.old_start - std::min<std::size_t>(hunk.old_start, 1);
    }

    // The places from `first` to `last`, both included, that the block fits to.
    Places all_fits(const std::vector<Line>& block, std::size_t first, std::size_t last) {
        Places places;
        for (std::size_t i = first; i <= last && comparisons_ <= comparisons_max_; ++i) {
            if (fits(block, i) && ++places.count <= kCandidatesReported) places.first.push_back(i);
        }
        return places;
    }

    bool fits(const std::vector<Line>& block, std::size_t start) {
        for (std::size_t i = 0; i < block.size(); ++i) {
            ++comparisons_;
            if (removed_[start + i] || file_.text(start + i) != block[i].text) return false;
        }
        return true;
    }

    void record(const Hunk& hunk, const std::vector<Line>& block, std::size_t start) {
        const bool as_written = endings_are_meant(hunk, block, start);
        std::size_t at = start;
        for (const auto& line : hunk.lines) {
            switch (line.kind) {
                case LineKind::Add:
                    added_.emplace(at, Added{line.text, !as_written ? file_.style_before(at)
                                                        : line.carriage_return ? Ending::CrLf
                                                                               : Ending::Lf});
                    break;
                case LineKind::Remove:
                    removed_[at++] = true;
                    break;
                case LineKind::Context:
                    ++at;
                    break;
            }
        }
        if (hunk.final_newline) final_newline_ = hunk.final_newline;
    }

    // A diff that shows some carriage returns, and shows them where the file has them, means those
    // of its added lines as well. Any other was written without regard to line endings.
    bool endings_are_meant(const Hunk& hunk, const std::vector<Line>& block,
                           std::size_t start) const {
        if (std::ranges::none_of(hunk.lines, &Line::carriage_return)) return false;
        for (std::size_t i = 0; i < block.size(); ++i) {
            const Ending ending = file_.ending(start + i);
            if (ending == Ending::None) continue;
            if (block[i].carriage_return != (ending == Ending::CrLf)) return false;
        }
        return true;
    }

    LineSpan around(std::size_t first, std::size_t end, std::size_t margin) const {
        return {std::min(first - std::min(first, margin), file_.size()),
                std::min(end + margin, file_.size())};
    }

    Failure too_much_work() const {
        return syntax_failure("patch_too_large",
                              fmt::format("Finding the hunks in {} takes too long.", path_),
                              {.path = path_});
    }
    std::size_t nearest_trace(const Hunk& hunk, const std::vector<Line>& block) const;
    bool lost_list_dash(const std::vector<Line>& block) const;
    Failure not_found(const Hunk& hunk, const std::vector<Line>& block) const;
    Failure ambiguous(const Hunk& hunk, const std::vector<Line>& block, const Places& places) const;

    FileLines file_;
    std::string_view path_;
    std::vector<bool> removed_;
    std::multimap<std::size_t, Added> added_{};  // By the old line they go in front of.
    std::optional<bool> final_newline_{};
    std::size_t comparisons_max_;
    std::size_t comparisons_{0};
};

// The line, nearest to the header's, that equals the first written line of the block: what the
// model had in mind is there, if anywhere.
std::size_t Matcher::nearest_trace(const Hunk& hunk, const std::vector<Line>& block) const {
    const std::size_t hint = std::min(hint_of(hunk), file_.size());
    const auto written = std::ranges::find_if(
        block, [](const Line& line) { return !base::trim(line.text).empty(); });
    if (written == block.end()) return hint;
    const auto distance = [&](std::size_t i) { return i > hint ? i - hint : hint - i; };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < file_.size(); ++i) {
        if (file_.text(i) != written->text) continue;
        if (!best || distance(i) < distance(*best)) best = i;
    }
    return best.value_or(hint);
}

// "- item" in a hunk removes " item"; for the list item itself the diff's own column is missing.
bool Matcher::lost_list_dash(const std::vector<Line>& block) const {
    for (const auto& line : block) {
        if (line.kind != LineKind::Remove || !line.text.starts_with(' ')) continue;
        for (std::size_t i = 0; i < file_.size(); ++i) {
            const std::string_view text = file_.text(i);
            if (text.starts_with('-') && text.substr(1) == line.text) return true;
        }
        return false;
    }
    return false;
}

Failure Matcher::not_found(const Hunk& hunk, const std::vector<Line>& block) const {
    const std::size_t centre = nearest_trace(hunk, block);
    const LineSpan nearby = around(centre, centre + 1, kNearbyLines);
    json::array lines;
    std::string shown;
    for (std::size_t i = nearby.begin; i < nearby.end; ++i) {
        const json::string text = preview(file_.text(i));
        shown += fmt::format("\n{}: {}", i + 1, std::string_view(text));
        lines.push_back({{"line_number", i + 1}, {"text", text}});
    }
    json::object details{{"path", base::to_utf8(path_)},
                         {"expected_lines", expected_lines(block)},
                         {"nearby_range", nearby.range()},
                         {"nearby_lines", std::move(lines)}};
    std::string hint = fmt::format(
        "Read {} again and copy its lines exactly, with all spaces, into the hunk.", path_);
    if (lost_list_dash(block)) {
        details["suspected_issue"] = "markdown_list_diff_prefix";
        hint += " To remove a list item `- item`, write `-- item`.";
    }
    if (!shown.empty()) hint += fmt::format(" The file has here:{}", shown);
    return failure("context_not_found",
                   fmt::format("The hunk at line {} of the patch does not fit anywhere in {}.",
                               hunk.patch_line, path_),
                   std::move(details), hint);
}

Failure Matcher::ambiguous(const Hunk& hunk, const std::vector<Line>& block,
                           const Places& places) const {
    const std::size_t hint_line = hint_of(hunk);
    const std::size_t reported = places.first.size();
    json::array candidates;
    std::string shown;
    for (std::size_t n = 0; n < reported; ++n) {
        const std::size_t place = places.first[n];
        const LineSpan span = around(place, place + 1, kCandidateLines);
        json::array lines;
        for (std::size_t i = span.begin; i < span.end; ++i) {
            lines.emplace_back(preview(file_.text(i)));
        }
        candidates.push_back(
            {{"line_number", place + 1},
             {"distance_from_hint", place > hint_line ? place - hint_line : hint_line - place},
             {"preview", std::move(lines)},
             {"preview_range", span.range()}});
        shown += fmt::format("{}{}", n == 0 ? "" : ", ", place + 1);
    }
    return failure(
        "ambiguous_context",
        fmt::format("The hunk at line {} of the patch fits {} places in {}.", hunk.patch_line,
                    places.count, path_),
        {{"path", base::to_utf8(path_)},
         {"expected_lines", expected_lines(block)},
         {"candidate_count", places.count},
         {"reported_count", reported},
         {"truncated", reported < places.count},
         {"candidates", std::move(candidates)}},
        fmt::format("Add unchanged lines before or after the change until the hunk fits one place "
                    "only. It fits at lines {}{}.",
                    shown, reported < places.count ? " and more" : ""));
}

std::string Matcher::build() {
    const std::size_t count = file_.size();
    const bool had_newline = count == 0 || file_.ending(count - 1) != Ending::None;
    std::string out;
    Ending last = Ending::Lf;
    const auto write = [&](std::string_view text, Ending ending, std::size_t at) {
        // A last line that is last no more gets the newline it never had.
        if (!out.empty() && last == Ending::None) out += ending_text(file_.style_before(at));
        out += text;
        out += ending_text(ending);
        last = ending;
    };
    auto next = added_.begin();
    for (std::size_t i = 0; i <= count; ++i) {
        for (; next != added_.end() && next->first == i; ++next) {
            write(next->second.text, next->second.ending, i);
        }
        if (i < count && !removed_[i]) write(file_.text(i), file_.ending(i), i);
    }
    const bool newline = final_newline_.value_or(had_newline);
    if (out.empty() || newline == (last != Ending::None)) return out;
    if (newline) return out += ending_text(file_.style_before(count));
    out.resize(out.size() - ending_text(last).size());
    return out;
}

}  // namespace

Outcome<std::string> apply_hunks(std::string_view file, std::span<const Hunk> hunks,
                                 std::string_view path, std::size_t comparisons_max) {
    Matcher matcher(file, path, comparisons_max);
    for (const auto& hunk : hunks) TRY(matcher.apply(hunk));
    return matcher.build();
}

std::string new_content(std::span<const Hunk> hunks) {
    std::string content;
    Ending last = Ending::None;
    bool newline = true;
    for (const auto& hunk : hunks) {
        for (const auto& line : hunk.lines) {
            last = line.carriage_return ? Ending::CrLf : Ending::Lf;
            content += line.text;
            content += ending_text(last);
        }
        newline = hunk.final_newline.value_or(true);
    }
    if (!newline) content.resize(content.size() - ending_text(last).size());
    return content;
}

}  // namespace patch
