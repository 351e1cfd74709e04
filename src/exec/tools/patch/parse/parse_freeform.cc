#include "base/text.h"
#include "exec/tools/patch/parse/parse.h"

namespace patch {
namespace {

constexpr std::string_view kAdd = "*** Add File: ";
constexpr std::string_view kDelete = "*** Delete File: ";
constexpr std::string_view kUpdate = "*** Update File: ";
constexpr std::string_view kMove = "*** Move to: ";
constexpr std::string_view kBegin = "*** Begin Patch";
constexpr std::string_view kEnd = "*** End Patch";
constexpr std::string_view kEndOfFile = "*** End of File";

bool is_chunk_line(std::string_view text) {
    return text.starts_with(' ') || text.starts_with('+') || text.starts_with('-');
}

class FreeformParser {
public:
    explicit FreeformParser(std::string_view text) : lines_(read_lines(text)) {}

    Outcome<Parsed> parse() {
        skip_blank();
        if (!done() && text().starts_with("<<")) ++at_;
        skip_blank();
        if (done() || base::trim(text()) != kBegin) {
            return syntax_failure("wrong_patch_format",
                                  "The patch does not begin with `*** Begin Patch`.",
                                  {.line = done() ? 0 : at_ + 1});
        }
        ++at_;
        for (skip_blank(); !done() && base::trim(text()) != kEnd; skip_blank()) TRY(parse_file());
        if (done()) {
            return syntax_failure("missing_end_patch", "The patch has no line `*** End Patch`.");
        }
        TRY(parse_rest());
        if (parsed_.files.empty()) {
            return syntax_failure("invalid_codex_hunk", "The patch changes no file.");
        }
        return std::move(parsed_);
    }

private:
    bool done() const { return at_ >= lines_.size(); }
    std::string_view text() const { return lines_[at_].text; }
    void skip_blank() {
        while (!done() && is_blank(text())) ++at_;
    }

    // Only the end of a here-document may follow.
    Outcome<void> parse_rest() {
        const std::size_t end = ++at_;
        for (skip_blank(); !done(); skip_blank()) {
            if (base::trim(text()) != "EOF") {
                return syntax_failure("wrong_patch_format",
                                      "There is text behind `*** End Patch`; send one patch only.",
                                      {.line = end + 1});
            }
            ++at_;
        }
        return {};
    }

    Outcome<void> parse_file() {
        if (text().starts_with(kAdd)) return parse_add();
        if (text().starts_with(kUpdate)) return parse_update();
        if (text().starts_with(kDelete)) {
            FilePatch file{.action = Action::Delete, .path = TRY(take_path(kDelete))};
            file.deletes_whatever_is_in = true;
            parsed_.files.push_back(std::move(file));
            return {};
        }
        return syntax_failure(
            "invalid_codex_hunk",
            fmt::format("Line {} of the patch begins no file operation.", at_ + 1),
            {.line = at_ + 1});
    }

    Outcome<std::string> take_path(std::string_view prefix) {
        const std::string_view path = base::trim(text().substr(prefix.size()));
        if (path.empty()) {
            return syntax_failure("invalid_codex_hunk",
                                  fmt::format("Line {} of the patch names no path.", at_ + 1),
                                  {.line = at_ + 1});
        }
        ++at_;
        return std::string(path);
    }

    Outcome<void> parse_add() {
        const std::size_t header_line = at_ + 1;
        FilePatch file{.action = Action::Add, .path = TRY(take_path(kAdd))};
        Hunk hunk{.patch_line = header_line};
        for (; !done() && text().starts_with('+'); ++at_) {
            hunk.lines.push_back({LineKind::Add, text().substr(1), lines_[at_].carriage_return});
        }
        const std::size_t stopped_at = at_;
        skip_blank();
        const bool ends = done() || text().starts_with("*** ");
        if (hunk.lines.empty() || !ends) {
            return syntax_failure(
                "invalid_codex_add_line",
                hunk.lines.empty()
                    ? fmt::format("The new file {} has no line that begins with `+`.", file.path)
                    : fmt::format("Line {} of the patch, in the new file {}, does not begin with "
                                  "`+`.",
                                  stopped_at + 1, file.path),
                {.line = hunk.lines.empty() ? header_line : stopped_at + 1, .path = file.path});
        }
        file.hunks.push_back(std::move(hunk));
        parsed_.files.push_back(std::move(file));
        return {};
    }

    Outcome<void> parse_update() {
        const std::size_t header_line = at_ + 1;
        FilePatch file{.action = Action::Modify, .path = TRY(take_path(kUpdate))};
        if (!done() && text().starts_with(kMove)) {
            file.from_path = std::move(file.path);
            file.path = TRY(take_path(kMove));
            file.action = Action::Move;
        }
        while (!at_file_end()) TRY(parse_chunk(file));
        if (file.hunks.empty() && file.action != Action::Move) {
            return syntax_failure("invalid_codex_hunk",
                                  fmt::format("The update of {} has no changes.", file.path),
                                  {.line = header_line, .path = file.path});
        }
        parsed_.files.push_back(std::move(file));
        return {};
    }

    bool at_file_end() {
        if (const std::size_t next = at_ + empty_run(); is_marker(next)) at_ = next;
        return done() || (text().starts_with("*** ") && base::trim(text()) != kEndOfFile);
    }

    std::size_t empty_run() const {
        std::size_t next = at_;
        while (next < lines_.size() && lines_[next].text.empty()) ++next;
        return next - at_;
    }

    bool is_marker(std::size_t at) const {
        return at >= lines_.size() || lines_[at].text.starts_with("@@") ||
               lines_[at].text.starts_with("*** ");
    }

    Outcome<void> parse_chunk(FilePatch& file) {
        Hunk hunk{.patch_line = at_ + 1};
        // `@@ class A` above `@@ def f` names one place in two steps.
        while (!done() && text().starts_with("@@")) ++at_;
        const std::size_t empty_lines = TRY(read_chunk_lines(file, hunk));
        if (hunk.lines.empty()) {
            return syntax_failure(
                "invalid_codex_hunk",
                fmt::format("The chunk at line {} of the patch has no lines.", hunk.patch_line),
                {.line = hunk.patch_line, .path = file.path});
        }
        if (!done() && base::trim(text()) == kEndOfFile) {
            hunk.final_newline = false;
            ++at_;
        }
        if (empty_lines > 0) {
            parsed_.diagnostics.push_back(
                empty_lines_as_context(file.path, hunk.patch_line, empty_lines));
        }
        file.hunks.push_back(std::move(hunk));
        return {};
    }

    // Returns how many empty lines were taken for context lines that lost their space.
    Outcome<std::size_t> read_chunk_lines(const FilePatch& file, Hunk& hunk) {
        std::size_t empty_lines = 0;
        for (; !is_marker(at_); ++at_) {
            const std::size_t run = empty_run();
            // Empty lines in front of a marker separate; they belong to no chunk.
            if (is_marker(at_ + run)) {
                at_ += run;
                break;
            }
            empty_lines += run;
            hunk.lines.insert(hunk.lines.end(), run, Line{.kind = LineKind::Context});
            at_ += run;
            const auto& line = lines_[at_];
            if (!is_chunk_line(line.text)) {
                return syntax_failure("invalid_codex_change_line",
                                      fmt::format("Line {} of the patch begins with neither space, "
                                                  "`+` nor `-`.",
                                                  at_ + 1),
                                      {.line = at_ + 1, .path = file.path});
            }
            const LineKind kind = line.text.front() == '+'   ? LineKind::Add
                                  : line.text.front() == '-' ? LineKind::Remove
                                                             : LineKind::Context;
            hunk.lines.push_back({kind, line.text.substr(1), line.carriage_return});
        }
        return empty_lines;
    }

    std::vector<TextLine> lines_;
    std::size_t at_{0};
    Parsed parsed_{};
};

}  // namespace

Outcome<Parsed> parse_freeform(std::string_view text) {
    return FreeformParser(text).parse();
}

}  // namespace patch
