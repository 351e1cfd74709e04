// What a session looks like.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/markdown/markdown.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/session/session.h"

namespace tui {
namespace {

constexpr std::array<std::string_view, 8> kSpin{"⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"};
constexpr std::size_t kStreamTail =
    16 * 1024;  // Of an unfinished block: more is not on the screen.

std::string_view tag_of(Pending::State state) {
    switch (state) {
        case Pending::State::Sending:
            return "[sending]";
        case Pending::State::Queued:
            return "[queued]";
        case Pending::State::Failed:
            return "[failed]";
    }
    return "";
}

void keep_last(std::vector<show::Line>& lines, std::size_t count) {
    if (lines.size() > count)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
}

void add(std::vector<show::Line>& lines, std::vector<show::Line> more) {
    std::ranges::move(more, std::back_inserter(lines));
}

}  // namespace

// The end of the text that is being written. Blocks that are whole have scrolled by; only their end
// and the open one are laid out again for each word.
std::vector<show::Line> Session::stream_lines(std::size_t rows) const {
    std::string_view text = conversation_.streamed();
    if (base::trim(text).empty() || rows == 0) return {};
    const std::string_view whole = text.substr(0, show::finished_blocks(text));
    std::vector<show::Line> lines = show::markdown(text.substr(whole.size()), size_.columns - 2);
    if (lines.size() < rows && !whole.empty()) {
        std::string_view before = whole;
        if (before.size() > kStreamTail) {
            before.remove_prefix(before.size() - kStreamTail);
            before.remove_prefix(std::min(before.find('\n') + 1, before.size()));
        }
        auto above = show::markdown(before, size_.columns - 2);
        above.emplace_back();
        add(above, std::move(lines));
        lines = std::move(above);
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    keep_last(lines, rows);
    for (auto& line : lines) line.insert(line.begin(), show::Span{"  ", show::Face::Plain});
    return lines;
}

std::vector<show::Line> Session::pending_lines() const {
    std::vector<show::Line> lines;
    for (const auto& pending : conversation_.pending()) {
        const std::string tag(tag_of(pending.state));
        const bool is_failed = pending.state == Pending::State::Failed;
        const std::size_t room = size_.columns - std::min(size_.columns, tag.size() + 3);
        show::Line line = faced("› ", show::Face::Accent);
        append(line,
               plain(show::fitted(base::printable(base::collapse_whitespace(pending.text)), room) +
                     " "));
        append(line, faced(tag, is_failed ? show::Face::Bad : show::Face::Dim));
        lines.push_back(std::move(line));
    }
    keep_last(lines, kPendingRowsMax);
    return lines;
}

// What the agent does and for how long; the last line of a command is below it where both do not
// fit into one.
std::vector<show::Line> Session::activity_lines() const {
    if (!conversation_.is_in_turn()) return {};
    const auto& activity = conversation_.activity();
    const base::Time now = parts_.clock.now();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - activity.since);
    std::string figures =
        " " + show::duration_text(std::max<std::int64_t>(seconds.count(), 0) * 1000);
    if (seconds.count() < 10)
        figures = fmt::format(" {}s", std::max<std::int64_t>(seconds.count(), 0));
    if (activity.until && *activity.until > now)
        figures += ", until " + show::local_clock(*activity.until).substr(0, 8);
    figures += " · Esc Esc interrupts";
    std::string what = base::collapse_whitespace(activity.what.empty() ? "working" : activity.what);
    std::size_t taken = show::columns_of(figures) + 2;
    if (size_.columns < taken + 20) {
        figures.clear();
        taken = 2;
    }
    const std::size_t room = size_.columns > taken ? size_.columns - taken : 1;
    std::string output = base::collapse_whitespace(activity.output);
    if (!output.empty() && show::columns_of(what) + 3 + show::columns_of(output) <= room)
        what += " │ " + std::exchange(output, "");
    std::vector<show::Line> lines{
        faced(std::string(kSpin[spin_ % kSpin.size()]) + " ", show::Face::Accent)};
    append(lines.front(), plain(show::fitted(what, room)));
    append(lines.front(), dim(figures));
    if (!output.empty()) lines.push_back(dim(show::fitted("  │ " + output, size_.columns)));
    return lines;
}

std::vector<show::Line> Session::viewport(std::size_t rows, std::size_t& cursor_row,
                                          std::size_t& cursor_column) {
    const auto composed = composer_.view(size_.columns);
    std::vector<show::Line> below;
    if (!note_.empty())
        for (auto& part :
             show::wrapped(base::printable(base::collapse_whitespace(note_)), size_.columns))
            if (below.size() < 3) below.push_back(faced(std::move(part), show::Face::Warning));
    add(below, composed.menu);
    const std::size_t draft_at = below.size();
    add(below, composed.draft);
    add(below, status_lines(view_, connection_,
                            {.more_tokens = conversation_.tokens(),
                             .cost_usd = conversation_.cost_usd(),
                             .approvals = approvals_,
                             .questions = questions_},
                            parts_.clock.now(), size_.columns));
    std::vector<show::Line> above = pending_lines();
    add(above, activity_lines());
    // Small screens keep the composer and lose what is above it.
    const std::size_t room = rows > below.size() ? rows - below.size() : 0;
    const std::size_t stream_room =
        room > above.size() + 1 ? std::min(kStreamRowsMax, room - above.size() - 1) : 0;
    auto lines = stream_lines(stream_room);
    add(lines, std::move(above));
    if (room > lines.size()) lines.insert(lines.begin(), show::Line{});
    keep_last(lines, room);
    cursor_row = lines.size() + draft_at + composed.cursor_row;
    cursor_column = composed.cursor_column;
    add(lines, std::move(below));
    keep_last(lines, rows);
    cursor_row = std::min(cursor_row, lines.size() - 1);
    return lines;
}

std::vector<show::Line> Session::overlay_lines(std::size_t rows) {
    constexpr std::size_t kFrameRows = 3;  // Title, hint, note.
    std::vector<show::Line> lines;
    show::Line title = faced(" " + overlay_->title() + " ", show::Face::Selected);
    append(title, dim(" " + base::printable(view_.agent_id)));
    lines.push_back(show::fitted(title, size_.columns));
    add(lines, overlay_->view(size_.columns, rows > kFrameRows ? rows - kFrameRows : 1));
    // Where the keys need two lines and nothing else is to be said, they have both.
    const show::Line keys = dim(overlay_->hint() + " · " + overlay_->escape_hint());
    auto parts = show::wrapped(keys, size_.columns);
    const bool is_long = parts.size() > 1 && note_.empty();
    lines.push_back(is_long ? std::move(parts[0]) : show::fitted(keys, size_.columns));
    lines.push_back(is_long ? show::fitted(parts[1], size_.columns)
                            : show::fitted(faced(base::printable(base::collapse_whitespace(note_)),
                                                 show::Face::Warning),
                                           size_.columns));
    return lines;
}

// The conversation on the full screen, laid out again from its blocks.
std::vector<show::Line> Session::history_lines(std::size_t rows) {
    std::vector<show::Line> lines;
    const std::size_t wanted = rows + scrolled_;
    std::vector<std::vector<show::Line>> parts;
    std::size_t count = 0;
    for (auto block = blocks_.rbegin(); block != blocks_.rend() && count < wanted; ++block) {
        parts.push_back(lines_of(*block, size_.columns));
        count += parts.back().size();
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) add(lines, std::move(*part));
    scrolled_ = std::min(scrolled_, lines.size() > rows ? lines.size() - rows : 0);
    lines.resize(lines.size() - scrolled_);
    keep_last(lines, rows);
    while (lines.size() < rows) lines.insert(lines.begin(), show::Line{});
    return lines;
}

Drawing Session::draw() {
    Drawing drawing;
    if (overlay_) {
        drawing.is_overlay = true;
        drawing.frame.lines = overlay_lines(parts_.overlays_fill ? size_.rows : size_.rows - 1);
        drawing.frame.cursor_row = drawing.frame.lines.size() - 1;
        return drawing;
    }
    auto& frame = drawing.frame;
    frame.lines = viewport(parts_.fullscreen ? size_.rows / 2 + 2 : size_.rows - 1,
                           frame.cursor_row, frame.cursor_column);
    if (!parts_.fullscreen) {
        drawing.finished = std::exchange(finished_, {});
        return drawing;
    }
    finished_.clear();
    const std::size_t above = size_.rows > frame.lines.size() ? size_.rows - frame.lines.size() : 0;
    auto lines = history_lines(above);
    frame.cursor_row += lines.size();
    add(lines, std::move(frame.lines));
    frame.lines = std::move(lines);
    return drawing;
}

}  // namespace tui
