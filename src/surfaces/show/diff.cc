#include "surfaces/show/diff.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "surfaces/show/columns.h"

namespace show {
namespace {

constexpr std::size_t kDiffColumnsMin = 8;
constexpr std::string_view kMiddle = " │ ";
constexpr std::size_t kMiddleColumns = 3;
constexpr std::string_view kTabShown = "    ";
constexpr std::size_t kLineNumberMax = 99'999'999;

enum class Kind { File, Hunk, Note, Same, Added, Removed };

struct Change {
    Kind kind{Kind::Note};
    std::string text{};         // Without the sign.
    std::size_t old_number{0};  // 0: not known.
    std::size_t new_number{0};
};

// "12,3" of "@@ -12,3 +14,5 @@": where it begins, and how many lines follow.
struct Range {
    std::size_t begin{0};
    std::size_t count{1};
};

std::size_t read_number(std::string_view& text) {
    std::size_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc{}) return 0;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    return std::min(number, kLineNumberMax);
}

std::optional<Range> read_range(std::string_view header, char sign) {
    const std::size_t at = header.find(sign);
    if (at == header.npos || at + 1 >= header.size() || header[at + 1] < '0' ||
        header[at + 1] > '9')
        return std::nullopt;
    header.remove_prefix(at + 1);
    Range range;
    range.begin = read_number(header);
    if (header.starts_with(',')) {
        header.remove_prefix(1);
        range.count = read_number(header);
    }
    return range;
}

// Reads the lines of a diff one by one. Inside a hunk a line is what its sign says: "--- a" may be
// a removed "-- a".
class Reader {
public:
    Change read(std::string_view line, std::string_view next) {
        if (line.starts_with("*** ")) {
            is_patch_ = true;
            hunk_ = {};
            return {.kind = Kind::File, .text = shown(line)};
        }
        if (!is_in_hunk()) {
            const bool is_old_name = line.starts_with("--- ") && next.starts_with("+++ ");
            if (is_old_name || (line.starts_with("+++ ") && was_old_name_) ||
                line.starts_with("diff ")) {
                was_old_name_ = is_old_name;
                is_patch_ = false;
                return {.kind = Kind::File, .text = shown(line)};
            }
            was_old_name_ = false;
            if (line.starts_with("@@")) return read_hunk(line);
        }
        return read_change(line);
    }

private:
    bool is_in_hunk() const { return hunk_.old_left + hunk_.new_left > 0; }

    static std::string shown(std::string_view line) {
        std::string text;
        for (const char c : line) {
            if (c == '\t')
                text += kTabShown;
            else if (c != '\r' || &c != &line.back())
                text += c;
        }
        return base::printable(text);
    }

    Change read_hunk(std::string_view line) {
        const std::string_view ranges = line.substr(0, std::min(line.find("@@", 2), line.size()));
        const auto old_range = read_range(ranges, '-');
        const auto new_range = read_range(ranges, '+');
        hunk_ = {};
        if (old_range && new_range)
            hunk_ = {.old_number = old_range->begin,
                     .new_number = new_range->begin,
                     .old_left = old_range->count,
                     .new_left = new_range->count};
        return {.kind = Kind::Hunk, .text = shown(line)};
    }

    Change read_change(std::string_view line) {
        const bool has_counts = is_in_hunk();
        const char sign = line.empty() ? ' ' : line.front();
        Change change{.text = shown(line.empty() ? line : line.substr(1))};
        if (sign == '+') {
            change.kind = Kind::Added;
            change.new_number = count(hunk_.new_number, hunk_.new_left);
        } else if (sign == '-') {
            change.kind = Kind::Removed;
            change.old_number = count(hunk_.old_number, hunk_.old_left);
        } else if (sign == ' ' && (has_counts || is_patch_)) {
            change.kind = Kind::Same;
            change.old_number = count(hunk_.old_number, hunk_.old_left);
            change.new_number = count(hunk_.new_number, hunk_.new_left);
        } else if (is_patch_ && line.starts_with("@@")) {
            return {.kind = Kind::Hunk, .text = shown(line)};
        } else {
            return {.kind = Kind::Note, .text = shown(line)};
        }
        return change;
    }

    static std::size_t count(std::size_t& number, std::size_t& left) {
        if (left == 0) return 0;
        --left;
        return number++;
    }

    struct Hunk {
        std::size_t old_number{0};
        std::size_t new_number{0};
        std::size_t old_left{0};
        std::size_t new_left{0};
    };
    Hunk hunk_;
    bool is_patch_{false};  // Of ApplyPatch: names begin with "***", hunks have no numbers.
    bool was_old_name_{false};
};

std::vector<Change> changes_of(std::string_view diff) {
    const std::string valid = base::to_utf8(diff);
    const auto lines = base::split_lines(valid);
    std::vector<Change> changes;
    Reader reader;
    for (std::size_t i = 0; i < lines.size(); ++i)
        changes.push_back(reader.read(lines[i], i + 1 < lines.size() ? lines[i + 1] : ""));
    return changes;
}

Face face_of(Kind kind) {
    switch (kind) {
        case Kind::File:
            return Face::Bold;
        case Kind::Hunk:
        case Kind::Note:
            return Face::Dim;
        case Kind::Same:
            return Face::Plain;
        case Kind::Added:
            return Face::Added;
        case Kind::Removed:
            return Face::Removed;
    }
    return Face::Plain;
}

bool is_heading(const Change& change) {
    return change.kind == Kind::File || change.kind == Kind::Hunk || change.kind == Kind::Note;
}

class Writer {
public:
    Writer(const std::vector<Change>& changes, std::size_t columns) : columns_(columns) {
        std::size_t largest = 0;
        for (const auto& change : changes)
            largest = std::max({largest, change.old_number, change.new_number});
        number_columns_ = largest == 0 ? 0 : std::to_string(largest).size();
        if (number_columns_ + kDiffColumnsMin > columns) number_columns_ = 0;
    }

    void add_heading(const Change& change) {
        for (auto& line : wrapped({{change.text, face_of(change.kind)}}, columns_, Break::Anywhere))
            lines.push_back(std::move(line));
    }

    void add_unified(const Change& change) {
        const char sign = change.kind == Kind::Added     ? '+'
                          : change.kind == Kind::Removed ? '-'
                                                         : ' ';
        const std::size_t number =
            change.kind == Kind::Removed ? change.old_number : change.new_number;
        for (auto& line : cell(change, number, sign, columns_)) lines.push_back(std::move(line));
    }

    // Either may be missing.
    void add_pair(const Change* left, const Change* right) {
        const std::size_t half = (columns_ - kMiddleColumns) / 2;
        const auto left_lines =
            left ? cell(*left, left->old_number, left->kind == Kind::Removed ? '-' : ' ', half)
                 : std::vector<Line>{};
        const auto right_lines =
            right ? cell(*right, right->new_number, right->kind == Kind::Added ? '+' : ' ', half)
                  : std::vector<Line>{};
        for (std::size_t i = 0; i < std::max(left_lines.size(), right_lines.size()); ++i) {
            Line line = padded(i < left_lines.size() ? left_lines[i] : Line{}, half);
            line.push_back({std::string(kMiddle), Face::Dim});
            if (i < right_lines.size())
                line.insert(line.end(), right_lines[i].begin(), right_lines[i].end());
            lines.push_back(std::move(line));
        }
    }

    std::vector<Line> lines;

private:
    std::vector<Line> cell(const Change& change, std::size_t number, char sign,
                           std::size_t columns) const {
        std::string gutter;
        if (number_columns_ > 0)
            gutter =
                fmt::format("{:>{}} ", number == 0 ? "" : std::to_string(number), number_columns_);
        std::vector<Line> cell;
        const std::size_t room = columns - gutter.size() - 1;
        for (auto& part : wrapped({{change.text}}, room, Break::Anywhere)) {
            Line line;
            if (!gutter.empty()) line.push_back({gutter, Face::Dim});
            line.push_back(
                {std::string(1, cell.empty() ? sign : ' ') + text_of(part), face_of(change.kind)});
            cell.push_back(std::move(line));
            gutter.assign(gutter.size(), ' ');
        }
        return cell;
    }

    std::size_t columns_;
    std::size_t number_columns_{0};
};

// The changes from `begin` on that have this kind.
std::size_t run_length(const std::vector<Change>& changes, std::size_t begin, Kind kind) {
    std::size_t end = begin;
    while (end < changes.size() && changes[end].kind == kind) ++end;
    return end - begin;
}

// Side by side only where both sides have something to show.
bool replaces_lines(const std::vector<Change>& changes) {
    for (std::size_t i = 1; i < changes.size(); ++i)
        if (changes[i - 1].kind == Kind::Removed && changes[i].kind == Kind::Added) return true;
    return false;
}

void write_side_by_side(const std::vector<Change>& changes, Writer& writer) {
    for (std::size_t i = 0; i < changes.size();) {
        if (is_heading(changes[i])) {
            writer.add_heading(changes[i++]);
            continue;
        }
        if (changes[i].kind == Kind::Same) {
            writer.add_pair(&changes[i], &changes[i]);
            ++i;
            continue;
        }
        const std::size_t removed = run_length(changes, i, Kind::Removed);
        const std::size_t added = run_length(changes, i + removed, Kind::Added);
        for (std::size_t k = 0; k < std::max(removed, added); ++k)
            writer.add_pair(k < removed ? &changes[i + k] : nullptr,
                            k < added ? &changes[i + removed + k] : nullptr);
        i += removed + added;
    }
}

}  // namespace

std::vector<Line> diff_lines(std::string_view diff, std::size_t columns) {
    columns = std::max(columns, kDiffColumnsMin);
    const auto changes = changes_of(diff);
    Writer writer(changes, columns);
    const bool has_room = columns >= kSideBySideColumns && columns <= kSideBySideColumnsMax;
    if (has_room && replaces_lines(changes)) {
        write_side_by_side(changes, writer);
        return std::move(writer.lines);
    }
    for (const auto& change : changes)
        is_heading(change) ? writer.add_heading(change) : writer.add_unified(change);
    return std::move(writer.lines);
}

}  // namespace show
