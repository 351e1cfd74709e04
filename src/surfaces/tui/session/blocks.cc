// How a block of the conversation is drawn.
#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/diff.h"
#include "surfaces/show/markdown/markdown.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/screen/cells.h"
#include "surfaces/tui/session/conversation.h"

namespace tui {
namespace {

constexpr std::size_t kNoteLines = 6;
constexpr std::size_t kDiffLines = 40;
constexpr std::size_t kTextMin = 10;  // A narrower terminal wraps by itself.

struct Mark {
    std::string_view sign;
    show::Face face;
};

Mark mark_of(BlockKind kind) {
    switch (kind) {
        case BlockKind::Operator:
            return {"› ", show::Face::Accent};
        case BlockKind::Result:
            return {"✓ ", show::Face::Good};
        case BlockKind::Failure:
        case BlockKind::Failed:
            return {"✗ ", show::Face::Bad};
        case BlockKind::Asks:
        case BlockKind::Warning:
            return {"⚠ ", show::Face::Warning};
        case BlockKind::Progress:
            return {"● ", show::Face::Dim};
        case BlockKind::Done:
            return {"✓ ", show::Face::Dim};
        case BlockKind::Diff:
            break;
        case BlockKind::Note:
            return {"• ", show::Face::Dim};
    }
    return {"  ", show::Face::Plain};
}

bool is_paragraph(BlockKind kind) {
    return kind == BlockKind::Operator || kind == BlockKind::Result || kind == BlockKind::Failure ||
           kind == BlockKind::Asks || kind == BlockKind::Progress;
}

bool is_markdown(BlockKind kind) {
    return is_paragraph(kind) && kind != BlockKind::Operator;
}

// "14:03", of the operator's own time zone.
std::string clock_text(base::Time at) {
    return show::local_clock(at).substr(0, 5);
}

std::vector<show::Line> wrapped_lines(const std::string& text, std::size_t columns,
                                      show::Face face) {
    std::vector<show::Line> lines;
    for (const auto line : base::split_lines(text))
        for (auto& part : show::wrapped(base::printable(line), columns))
            lines.push_back(faced(std::move(part), face));
    return lines;
}

// A note is short, or is cut.
std::vector<show::Line> note_lines(const std::string& text, std::size_t columns) {
    auto lines = wrapped_lines(base::collapse_whitespace(text), columns, show::Face::Dim);
    if (lines.size() > kNoteLines) {
        lines.resize(kNoteLines);
        lines.back() = dim("…");
    }
    return lines;
}

// A long one is in the transcript.
std::vector<show::Line> change_lines(const std::string& patch, std::size_t columns) {
    auto lines = show::diff_lines(patch, columns);
    if (lines.size() <= kDiffLines) return lines;
    const auto more = static_cast<std::int64_t>(lines.size() - kDiffLines);
    lines.resize(kDiffLines);
    lines.push_back(
        dim(fmt::format("… {} more; /transcript shows all", base::counted(more, "line"))));
    return lines;
}

std::vector<show::Line> block_lines(const Block& block, std::size_t columns) {
    if (is_markdown(block.kind)) return show::markdown(block.text, columns);
    if (block.kind == BlockKind::Operator)
        return wrapped_lines(block.text, columns, show::Face::Bold);
    if (block.outcome.empty()) return note_lines(block.text, columns);
    // One line: the end says how it went, so the text is what is cut.
    const std::size_t taken = show::columns_of(block.outcome) + 1;
    const std::size_t room = columns > taken ? columns - taken : 1;
    show::Line line =
        faced(show::fitted(base::collapse_whitespace(block.text), room), show::Face::Dim);
    append(line, dim(" " + block.outcome));
    return {line};
}

}  // namespace

std::string patch_of(const std::vector<domain::TranscriptEntry>& entries, const domain::RunId& run,
                     std::int64_t round, std::size_t index) {
    for (const auto& entry : entries) {
        if (entry.kind != domain::TranscriptKind::AssistantRound || entry.run_id != run ||
            entry.round != round)
            continue;
        const auto* blocks = base::find(entry.data, "blocks");
        if (!blocks || !blocks->is_array()) continue;
        for (const auto& block : blocks->get_array()) {
            if (base::string_at(block, "name") != "ApplyPatch" || index-- > 0) continue;
            const auto* input = base::find(block, "input");
            return input ? base::string_at(*input, "patch") : "";
        }
    }
    return "";
}

std::vector<show::Line> lines_of(const Block& block, std::size_t columns) {
    // It needs the whole width: two halves of it are shown side by side.
    if (block.kind == BlockKind::Diff) return change_lines(block.text, columns);
    const auto [sign, face] = mark_of(block.kind);
    const std::size_t margin = show::columns_of(sign);
    const std::size_t room = std::max(columns, margin + kTextMin) - margin;
    auto texts = block_lines(block, room);
    if (texts.empty()) texts.emplace_back();
    std::vector<show::Line> lines;
    if (is_paragraph(block.kind)) lines.emplace_back();
    for (std::size_t i = 0; i < texts.size(); ++i) {
        show::Line line = i == 0 ? faced(std::string(sign), face) : plain(std::string(margin, ' '));
        append(line, texts[i]);
        lines.push_back(std::move(line));
    }
    // The time stands at the end of the last line, where there is room for it.
    if (is_paragraph(block.kind)) {
        const std::string clock = "  " + clock_text(block.at);
        if (show::columns_of(lines.back()) + show::columns_of(clock) <= columns)
            append(lines.back(), dim(clock));
    }
    return lines;
}

}  // namespace tui
