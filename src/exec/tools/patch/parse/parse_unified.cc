#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "exec/tools/patch/parse/git_path.h"
#include "exec/tools/patch/parse/parse.h"
#include "exec/tools/patch/parse/unified_header.h"

namespace patch {
namespace {

constexpr std::size_t kLineNumberMax = 1'000'000'000;

constexpr std::array<std::string_view, 9> kMetadata{
    "index ",         "similarity index ",  "dissimilarity index ",
    "new file mode ", "deleted file mode ", "old mode ",
    "new mode ",      "rename from ",       "rename to "};

constexpr std::array<std::string_view, 5> kUnsupported{"copy from ", "copy to ", "GIT binary patch",
                                                       "Binary files ", "diff --cc "};

// The prefix of `text` in `prefixes`, or empty.
template <class Prefixes>
std::string_view prefix_in(const Prefixes& prefixes, std::string_view text) {
    for (const auto prefix : prefixes) {
        if (text.starts_with(prefix)) return prefix;
    }
    return {};
}

struct Range {
    std::size_t start{0};
    std::size_t count{1};
};

// Reads "12" or "12,3" from the front of `text`.
std::optional<Range> take_range(std::string_view& text) {
    const auto take_number = [&](std::size_t& number) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{} || number > kLineNumberMax) return false;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        return true;
    };
    Range range;
    if (!take_number(range.start)) return std::nullopt;
    if (!text.starts_with(',')) return range;
    text.remove_prefix(1);
    if (!take_number(range.count)) return std::nullopt;
    return range;
}

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// Links and submodules have their own file modes.
bool is_special_mode(std::string_view mode) {
    return mode.ends_with("120000") || mode.ends_with("160000");
}

struct OpenHunk {
    Hunk hunk{};
    Range old_range{};
    Range new_range{};
    std::size_t old_lines{0};
    std::size_t new_lines{0};
    std::size_t empty_lines{0};
    std::size_t old_marked{0};  // Which line of its side has the no-newline marker; 0 for none.
    std::size_t new_marked{0};

    void add(LineKind kind, std::string_view text, bool carriage_return) {
        hunk.lines.push_back({kind, text, carriage_return});
        if (kind != LineKind::Add) ++old_lines;
        if (kind != LineKind::Remove) ++new_lines;
    }
    void mark() {
        if (hunk.lines.back().kind != LineKind::Add) old_marked = old_lines;
        if (hunk.lines.back().kind != LineKind::Remove) new_marked = new_lines;
    }
    // A marker is only true of the last line of its side.
    bool marks_hold() const {
        return (old_marked == 0 || old_marked == old_lines) &&
               (new_marked == 0 || new_marked == new_lines);
    }
    std::size_t old_due() const { return old_range.count - std::min(old_range.count, old_lines); }
    std::size_t new_due() const { return new_range.count - std::min(new_range.count, new_lines); }
};

std::optional<OpenHunk> open_hunk(std::string_view text) {
    OpenHunk open;
    if (!take(text, "@@ -")) return std::nullopt;
    const auto old_range = take_range(text);
    if (!old_range || !take(text, " +")) return std::nullopt;
    const auto new_range = take_range(text);
    if (!new_range || !take(text, " @@")) return std::nullopt;
    open.old_range = *old_range;
    open.new_range = *new_range;
    open.hunk.old_start = old_range->start;
    open.hunk.inserts_after = old_range->count == 0;
    return open;
}

class UnifiedParser {
public:
    explicit UnifiedParser(std::string_view text) : lines_(read_lines(text)) {
        while (written_ > 0 && is_blank(lines_[written_ - 1].text)) --written_;
    }

    Outcome<Parsed> parse() {
        skip_blank();
        if (done()) return syntax_failure("unknown_patch_format", "The patch is empty.");
        if (base::trim(text()) == "*** Begin Patch") {
            return syntax_failure("wrong_patch_format",
                                  "The patch is in the `*** Begin Patch` format, not a unified "
                                  "diff.",
                                  {.line = at_ + 1});
        }
        while (!done()) {
            TRY(parse_file());
            skip_blank();
        }
        return std::move(parsed_);
    }

private:
    bool done() const { return at_ >= lines_.size(); }
    std::string_view text() const { return lines_[at_].text; }
    bool starts(std::size_t at, std::string_view prefix) const {
        return at < lines_.size() && lines_[at].text.starts_with(prefix);
    }
    void skip_blank() {
        while (!done() && is_blank(text())) ++at_;
    }

    Outcome<void> parse_file() {
        Header header{.line = at_ + 1};
        TRY(read_git_header(header));
        TRY(read_metadata(header));
        TRY(read_paths(header));
        FilePatch file = TRY(resolve(header));
        note_modes(header, file);
        for (auto& [kind, value] : header.ignored) {
            parsed_.ignored_metadata.push_back({file.path, kind, value});
        }
        if (header.has_paths) TRY(read_hunks(file));
        if (file.hunks.empty() && header.has_paths && !file.from_path && !header.new_mode) {
            return syntax_failure("missing_hunk",
                                  fmt::format("The patch of {} has no hunk.", file.path),
                                  {.line = header.line, .path = file.path});
        }
        parsed_.files.push_back(std::move(file));
        return {};
    }

    Outcome<void> read_git_header(Header& header) {
        if (!text().starts_with("diff --git ")) return {};
        header.has_git = true;
        const GitHeader found = git_header_paths(text().substr(11));
        if (!found.paths && !found.ambiguous) {
            return syntax_failure("invalid_git_header",
                                  "The `diff --git` line does not name two paths.",
                                  {.line = at_ + 1});
        }
        header.git = found.paths;
        ++at_;
        return {};
    }

    Outcome<void> read_metadata(Header& header) {
        for (; !done(); ++at_) {
            if (!prefix_in(kUnsupported, text()).empty()) return unsupported_feature(text());
            const std::string_view prefix = prefix_in(kMetadata, text());
            if (prefix.empty()) break;
            const std::string_view kind = prefix.substr(0, prefix.size() - 1);
            const std::string value(base::trim(text().substr(prefix.size())));
            if (is_special_mode(value) && (kind.ends_with("mode") || kind == "index")) {
                return unsupported_feature(text());
            }
            if (kind == "rename from") {
                header.rename_from = header_path(value);
            } else if (kind == "rename to") {
                header.rename_to = header_path(value);
            } else if (kind == "new file mode") {
                header.new_file_mode = value;
            } else if (kind == "old mode") {
                header.old_mode = value;
            } else if (kind == "new mode") {
                header.new_mode = value;
            } else {
                if (kind == "deleted file mode") header.deleted_file_mode = value;
                header.ignored.emplace_back(kind, value);
            }
        }
        return {};
    }

    Outcome<void> read_paths(Header& header) {
        if (!starts(at_, "--- ")) {
            const bool stands_alone = header.rename_from || header.rename_to || header.new_mode ||
                                      header.new_file_mode || header.deleted_file_mode;
            if (stands_alone && (header.has_git || header.rename_from || header.rename_to))
                return {};
            return missing_header(header);
        }
        header.has_paths = true;
        header.old_path = TRY(read_path("--- "));
        if (!starts(at_, "+++ ")) {
            return syntax_failure("missing_file_header",
                                  "The line `--- path` is not followed by `+++ path`.",
                                  {.line = at_ + 1});
        }
        header.new_path = TRY(read_path("+++ "));
        return {};
    }

    Failure missing_header(const Header& header) const {
        const bool nothing_known =
            !header.has_git && parsed_.files.empty() &&
            std::ranges::none_of(lines_, [](const TextLine& line) {
                return line.text.starts_with("--- ") || line.text.starts_with("diff --git ");
            });
        if (nothing_known) {
            return syntax_failure("unknown_patch_format",
                                  "The text is neither a unified diff nor a `*** Begin Patch` "
                                  "patch.",
                                  {.line = header.line});
        }
        return syntax_failure(
            "missing_file_header",
            done() ? "The patch ends where the lines `--- path` and `+++ path` "
                     "were expected."
                   : fmt::format("Line {} of the patch is not a file header.", at_ + 1),
            {.line = done() ? header.line : at_ + 1});
    }

    // The path of a `---` or `+++` line; none for /dev/null.
    Outcome<std::optional<std::string>> read_path(std::string_view prefix) {
        auto path = header_path(text().substr(prefix.size()));
        if (!path) {
            return syntax_failure("missing_file_header",
                                  fmt::format("The line `{}` names no path.", base::trim(prefix)),
                                  {.line = at_ + 1});
        }
        ++at_;
        if (*path == "/dev/null") return std::nullopt;
        return without_prefix(std::move(*path));
    }

    Outcome<void> read_hunks(FilePatch& file) {
        for (skip_blank(); starts(at_, "@@"); skip_blank()) TRY(read_hunk(file));
        return {};
    }

    Outcome<void> read_hunk(FilePatch& file);
    Outcome<void> read_hunk_line(OpenHunk& open, const FilePatch& file);
    bool read_empty_line(OpenHunk& open);
    static Outcome<void> check_hunk(const OpenHunk& open, const FilePatch& file);
    void finish_hunk(OpenHunk& open, FilePatch& file);
    bool ends_hunk(const OpenHunk& open, std::size_t at) const;

    std::vector<TextLine> lines_;
    std::size_t written_{lines_.size()};  // Behind the last line that is not blank.
    std::size_t at_{0};
    Parsed parsed_{};
};

// Does the line at `at` begin something else than a line of the open hunk? "--- x" may also be a
// removed "-- x": it is one when the counts ask for just these two lines more.
bool UnifiedParser::ends_hunk(const OpenHunk& open, std::size_t at) const {
    if (at >= lines_.size() || starts(at, "@@") || starts(at, "diff --git ")) return true;
    if (!starts(at, "--- ") || !starts(at + 1, "+++ ")) return false;
    std::size_t next = at + 2;
    while (next < lines_.size() && is_blank(lines_[next].text)) ++next;
    return starts(next, "@@ -") && !(open.old_due() == 1 && open.new_due() == 1);
}

// An empty line is a context line that lost its space when the hunk continues after it, or when the
// counts ask for it; otherwise it separates. Returns whether the hunk is still open.
bool UnifiedParser::read_empty_line(OpenHunk& open) {
    std::size_t next = at_;
    while (next < lines_.size() && lines_[next].text.empty()) ++next;
    const std::size_t blanks = next - at_;
    const bool ends = ends_hunk(open, next);
    const std::size_t due = open.old_due() == open.new_due() ? open.old_due() : 0;
    const std::size_t kept = !ends ? blanks : due <= blanks ? due : 0;
    for (std::size_t i = 0; i < kept; ++i) {
        open.add(LineKind::Context, {}, lines_[at_ + i].carriage_return);
    }
    open.empty_lines += kept;
    at_ = next;
    return !ends;
}

Outcome<void> UnifiedParser::read_hunk_line(OpenHunk& open, const FilePatch& file) {
    const auto& line = lines_[at_];
    const At at{.line = at_ + 1, .path = file.path};
    switch (line.text.front()) {
        case ' ':
            open.add(LineKind::Context, line.text.substr(1), line.carriage_return);
            break;
        case '+':
            open.add(LineKind::Add, line.text.substr(1), line.carriage_return);
            break;
        case '-':
            open.add(LineKind::Remove, line.text.substr(1), line.carriage_return);
            break;
        case '\\':
            if (open.hunk.lines.empty() || !line.text.starts_with("\\ No newline")) {
                return syntax_failure(
                    "invalid_hunk_line",
                    fmt::format("Line {} of the patch begins with a backslash but "
                                "is no no-newline marker below a hunk line.",
                                at_ + 1),
                    at);
            }
            open.mark();
            break;
        default:
            if (!prefix_in(kMetadata, line.text).empty()) {
                return syntax_failure(
                    "unexpected_git_metadata",
                    fmt::format("Line {} of the patch is a git header line inside a hunk.",
                                at_ + 1),
                    at);
            }
            return syntax_failure(
                "invalid_hunk_line",
                fmt::format("Line {} of the patch begins with neither space, `+` nor `-`.",
                            at_ + 1),
                at);
    }
    ++at_;
    return {};
}

Outcome<void> UnifiedParser::read_hunk(FilePatch& file) {
    const At at{.line = at_ + 1, .path = file.path};
    auto opened = open_hunk(text());
    if (!opened) {
        if (text().starts_with("@@@")) return unsupported_feature(text());
        return syntax_failure("invalid_hunk_header",
                              fmt::format("Line {} of the patch is no valid hunk header.", at_ + 1),
                              at);
    }
    OpenHunk& open = *opened;
    open.hunk.patch_line = ++at_;
    while (!ends_hunk(open, at_)) {
        // Spaces at the very end are no context line unless the counts ask for one.
        if (at_ >= written_ && open.old_due() == 0 && open.new_due() == 0) break;
        if (text().empty()) {
            if (!read_empty_line(open)) break;
        } else {
            TRY(read_hunk_line(open, file));
        }
    }
    TRY(check_hunk(open, file));
    finish_hunk(open, file);
    return {};
}

Outcome<void> UnifiedParser::check_hunk(const OpenHunk& open, const FilePatch& file) {
    const At at{.line = open.hunk.patch_line, .path = file.path};
    const bool adds_only = std::ranges::all_of(
        open.hunk.lines, [](const Line& line) { return line.kind == LineKind::Add; });
    if (file.action == Action::Add && !adds_only) {
        return syntax_failure(
            open.empty_lines > 0 ? "invalid_hunk_empty_line" : "invalid_hunk_line",
            fmt::format("The hunk at line {} of the patch has lines that are not added, but {} is "
                        "a new file.",
                        at.line, file.path),
            at);
    }
    if (open.hunk.lines.empty()) {
        return syntax_failure(
            "missing_hunk", fmt::format("The hunk at line {} of the patch has no lines.", at.line),
            at);
    }
    if (!open.marks_hold()) {
        return syntax_failure(
            "invalid_hunk_line",
            fmt::format("The hunk at line {} of the patch has a no-newline marker "
                        "that is not below the last line of the file.",
                        at.line),
            at);
    }
    return {};
}

void UnifiedParser::finish_hunk(OpenHunk& open, FilePatch& file) {
    const std::size_t line = open.hunk.patch_line;
    if (open.old_marked > 0 || open.new_marked > 0) open.hunk.final_newline = open.new_marked == 0;
    if (open.empty_lines > 0) {
        parsed_.diagnostics.push_back(empty_lines_as_context(file.path, line, open.empty_lines));
    }
    if (open.old_lines != open.old_range.count || open.new_lines != open.new_range.count) {
        parsed_.diagnostics.push_back(
            {file.path, "hunk_count_mismatch",
             fmt::format("The hunk header at line {} of the patch counts {} old and {} new lines; "
                         "the hunk has {} and {}.",
                         line, open.old_range.count, open.new_range.count, open.old_lines,
                         open.new_lines)});
    }
    file.hunks.push_back(std::move(open.hunk));
}

}  // namespace

Outcome<Parsed> parse_unified(std::string_view text) {
    return UnifiedParser(text).parse();
}

}  // namespace patch
