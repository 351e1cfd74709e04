#include "surfaces/tui/overlays/transcript_text.h"

#include <algorithm>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/diff.h"
#include "surfaces/show/markdown/markdown.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

constexpr std::size_t kMargin = 2;
constexpr std::size_t kResultLinesMax = 400;  // The rest is counted; holon transcript has it.

// What an entry is made of.
struct Piece {
    enum class Kind { Text, Markdown, Call, Patch, Result, Error };
    Kind kind{Kind::Text};
    std::string who;
    std::string text;
};

std::string sender_of(const json::value& data) {
    const auto* origin = base::find(data, "origin");
    const std::string kind = origin ? base::string_at(*origin, "kind") : "operator";
    if (kind == "operator") return "you";
    return kind == "system" ? "runtime" : base::printable(kind);
}

std::string body_of(const json::value& data) {
    const auto* body = base::find(data, "body");
    if (!body) return "";
    if (const auto* value = base::find(*body, "value")) return base::json_text(*value);
    return base::string_at(*body, "text");
}

Piece call_of(const json::value& block) {
    const std::string name = base::string_at(block, "name");
    const auto* input = base::find(block, "input");
    if (!input) return {Piece::Kind::Call, "calls", name};
    if (const std::string patch = base::string_at(*input, "patch"); !patch.empty())
        return {Piece::Kind::Patch, "patch", patch};
    if (const std::string cmd = base::string_at(*input, "cmd"); !cmd.empty())
        return {Piece::Kind::Call, "calls", "$ " + cmd};
    return {Piece::Kind::Call, "calls", name + " " + base::json_text(*input)};
}

const json::array& list_at(const json::value& data, std::string_view name) {
    static const json::array kNone;
    const auto* list = base::find(data, name);
    return list && list->is_array() ? list->get_array() : kNone;
}

std::vector<Piece> pieces_of(const domain::TranscriptEntry& entry) {
    std::vector<Piece> pieces;
    switch (entry.kind) {
        case domain::TranscriptKind::IncomingMessage:
            pieces.push_back({Piece::Kind::Text, sender_of(entry.data), body_of(entry.data)});
            break;
        case domain::TranscriptKind::AssistantRound:
            for (const auto& block : list_at(entry.data, "blocks")) {
                const std::string type = base::string_at(block, "type");
                if (type == "text")
                    pieces.push_back(
                        {Piece::Kind::Markdown, "agent", base::string_at(block, "text")});
                if (type == "tool_use") pieces.push_back(call_of(block));
            }
            break;
        case domain::TranscriptKind::ToolResults:
            for (const auto& result : list_at(entry.data, "results")) {
                const bool is_error = base::bool_at(result, "is_error");
                pieces.push_back({is_error ? Piece::Kind::Error : Piece::Kind::Result,
                                  is_error ? "error" : "result",
                                  base::string_at(result, "content")});
            }
            break;
        case domain::TranscriptKind::RuntimeFailure:
            pieces.push_back({Piece::Kind::Error, "failure",
                              show::failure_text(base::string_at(entry.data, "text"))});
            break;
        case domain::TranscriptKind::ContinuationPrompt:
            pieces.push_back({Piece::Kind::Text, "runtime", base::string_at(entry.data, "text")});
            break;
    }
    return pieces;
}

std::vector<show::Line> indented(std::vector<show::Line> lines) {
    for (auto& line : lines)
        line.insert(line.begin(), show::Span{std::string(kMargin, ' '), show::Face::Plain});
    return lines;
}

std::vector<show::Line> lines_of_piece(const Piece& piece, std::size_t columns) {
    const std::size_t room = columns > kMargin ? columns - kMargin : 1;
    switch (piece.kind) {
        case Piece::Kind::Markdown:
            return indented(show::markdown(piece.text, room));
        case Piece::Kind::Patch:
            return show::diff_lines(piece.text,
                                    columns);  // Side by side where that is wide enough.
        case Piece::Kind::Call:
            return text_lines(piece.text, columns, show::Face::Code, kMargin);
        case Piece::Kind::Text:
            return text_lines(piece.text, columns, show::Face::Plain, kMargin);
        case Piece::Kind::Error:
            return text_lines(piece.text, columns, show::Face::Bad, kMargin);
        case Piece::Kind::Result:
            break;
    }
    auto lines = text_lines(piece.text, columns, show::Face::Dim, kMargin);
    if (lines.size() > kResultLinesMax) {
        const auto more = static_cast<std::int64_t>(lines.size() - kResultLinesMax);
        lines.resize(kResultLinesMax);
        lines.push_back(dim(fmt::format("  … {} more; holon transcript --json shows all",
                                        base::counted(more, "line"))));
    }
    return lines;
}

}  // namespace

std::vector<show::Line> text_lines(std::string_view text, std::size_t columns, show::Face face,
                                   std::size_t margin) {
    std::vector<show::Line> lines;
    const std::size_t room = columns > margin ? columns - margin : 1;
    for (const auto line : base::split_lines(text))
        for (auto& part : show::wrapped(base::printable(base::to_utf8(line)), room))
            lines.push_back(faced(std::string(margin, ' ') + part, face));
    return lines;
}

std::vector<show::Line> transcript_lines(const domain::TranscriptEntry& entry,
                                         std::size_t columns) {
    std::vector<show::Line> lines;
    for (const auto& piece : pieces_of(entry)) {
        show::Line head = faced(piece.who, show::Face::Accent);
        append(head, dim("  " + show::local_time(entry.created_at)));
        lines.push_back(std::move(head));
        std::ranges::move(lines_of_piece(piece, columns), std::back_inserter(lines));
        lines.emplace_back();
    }
    return lines;
}

std::string transcript_markdown(std::span<const domain::TranscriptEntry> entries) {
    std::string text;
    for (const auto& entry : entries)
        for (const auto& piece : pieces_of(entry)) {
            const bool is_prose =
                piece.kind == Piece::Kind::Markdown || piece.kind == Piece::Kind::Text;
            text += fmt::format("## {} ({})\n\n", piece.who, show::local_time(entry.created_at));
            if (is_prose)
                text += piece.text + "\n\n";
            else
                text += fmt::format("````{}\n{}\n````\n\n",
                                    piece.kind == Piece::Kind::Patch ? "diff" : "", piece.text);
        }
    return text;
}

}  // namespace tui
