#include "surfaces/tui/screen/presenter.h"

#include <gtest/gtest.h>

#include "surfaces/show/columns.h"

namespace tui {
namespace {

// Enough of a terminal to see what the presenter's bytes make of it.
class Model {
public:
    explicit Model(std::size_t rows) : rows_(rows) { screen_.resize(rows); }

    void feed(std::string_view bytes) {
        while (!bytes.empty()) bytes.remove_prefix(take(bytes));
    }
    // The screen and all that has scrolled off it, without blank rows at the end.
    std::vector<std::string> lines() const {
        std::vector<std::string> all = scrolled_;
        all.insert(all.end(), screen_.begin(), screen_.end());
        for (auto& line : all)
            while (line.ends_with(' ')) line.pop_back();
        while (!all.empty() && all.back().empty()) all.pop_back();
        return all;
    }
    std::size_t row() const { return row_; }
    std::size_t column() const { return column_; }

private:
    std::size_t take(std::string_view bytes) {
        if (bytes.front() == '\x1b') return escape(bytes);
        if (bytes.front() == '\r') {
            column_ = 0;
        } else if (bytes.front() == '\n') {
            if (row_ + 1 < rows_) {
                ++row_;
            } else {
                scrolled_.push_back(screen_.front());
                screen_.erase(screen_.begin());
                screen_.emplace_back();
            }
        } else {
            std::string& line = screen_[row_];
            if (line.size() < column_) line.resize(column_, ' ');
            line.replace(std::min(column_, line.size()), 1, 1, bytes.front());
            ++column_;
        }
        return 1;
    }

    std::size_t escape(std::string_view bytes) {
        std::size_t end = 2;
        while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) ++end;
        const std::string number(bytes.substr(2, end - 2));
        const std::size_t n = number.empty() || number[0] == '?' ? 1 : std::stoul(number);
        const auto at = screen_.begin() + static_cast<std::ptrdiff_t>(row_);
        switch (bytes[end]) {
            case 'A':
                row_ -= std::min(row_, n);
                break;
            case 'B':
                row_ = std::min(row_ + n, rows_ - 1);
                break;
            case 'G':
                column_ = n - 1;
                break;
            case 'K':
                screen_[row_].resize(std::min(column_, screen_[row_].size()));
                break;
            case 'J':
                screen_[row_].resize(std::min(column_, screen_[row_].size()));
                for (std::size_t i = row_ + 1; i < rows_; ++i) screen_[i].clear();
                break;
            case 'M':
                screen_.erase(at);
                screen_.emplace_back();
                break;
            case 'L':
                screen_.insert(at, "");
                screen_.pop_back();
                break;
            default:
                break;
        }
        return end + 1;
    }

    std::size_t rows_;
    std::vector<std::string> screen_;
    std::vector<std::string> scrolled_;
    std::size_t row_{0};
    std::size_t column_{0};
};

std::vector<show::Line> lines_of(const std::vector<std::string>& texts) {
    std::vector<show::Line> lines;
    for (const auto& text : texts) lines.push_back(plain(text));
    return lines;
}
Frame frame_of(const std::vector<std::string>& texts, std::size_t row = 0, std::size_t column = 0) {
    return {.lines = lines_of(texts), .cursor_row = row, .cursor_column = column};
}
using Lines = std::vector<std::string>;

TEST(Presenter, LeavesFinishedLinesInTheScrollback) {
    Model model(5);
    Presenter presenter(true, 20, 5);
    model.feed(presenter.draw({}, frame_of({"> ", "status"}, 0, 2)));
    EXPECT_EQ(model.lines(), (Lines{">", "status"}));
    for (int i = 0; i < 7; ++i)
        model.feed(presenter.draw(lines_of({fmt::format("line {}", i)}),
                                  frame_of({"> ", "status"}, 0, 2)));
    EXPECT_EQ(model.lines(), (Lines{"line 0", "line 1", "line 2", "line 3", "line 4", "line 5",
                                    "line 6", ">", "status"}));
    EXPECT_EQ(model.column(), 2U);
}

TEST(Presenter, SendsNothingWhenNothingChanged) {
    Presenter presenter(true, 20, 5);
    presenter.draw({}, frame_of({"a", "b"}));
    EXPECT_EQ(presenter.draw({}, frame_of({"a", "b"})), "");
}

TEST(Presenter, SendsOnlyWhatChangedOfALine) {
    Model model(5);
    Presenter presenter(true, 40, 5);
    model.feed(presenter.draw({}, frame_of({"streamed text", "> hello", "status"}, 1, 7)));
    const std::string bytes =
        presenter.draw({}, frame_of({"streamed text goes on", "> hello", "status"}, 1, 7));
    model.feed(bytes);
    EXPECT_EQ(model.lines(), (Lines{"streamed text goes on", "> hello", "status"}));
    EXPECT_LT(bytes.size(), 50U);
    EXPECT_EQ(bytes.find("streamed"), std::string::npos);
}

TEST(Presenter, LetsTheTerminalMoveTheRowsOfAStream) {
    const std::string a(70, 'a'), b(70, 'b'), c(70, 'c'), d(70, 'd');
    Model model(10);
    Presenter presenter(true, 80, 10);
    model.feed(presenter.draw({}, frame_of({a, b, c, "> ", "status"}, 3, 2)));
    const std::string bytes = presenter.draw({}, frame_of({b, c, d, "> ", "status"}, 3, 2));
    model.feed(bytes);
    EXPECT_EQ(model.lines(), (Lines{b, c, d, ">", "status"}));
    EXPECT_LE(bytes.size(), 130U);
}

TEST(Presenter, GrowsAndUsesTheRoomUpAfterwards) {
    Model model(8);
    Presenter presenter(true, 20, 8);
    model.feed(presenter.draw(lines_of({"one"}), frame_of({">", "status"})));
    model.feed(presenter.draw({}, frame_of({"x", "y", "z", ">", "status"}, 3)));
    EXPECT_EQ(model.lines(), (Lines{"one", "x", "y", "z", ">", "status"}));
    model.feed(presenter.draw({}, frame_of({">", "status"})));
    EXPECT_EQ(model.lines(), (Lines{"one", "", "", "", ">", "status"}));
    model.feed(presenter.draw(lines_of({"two", "three"}), frame_of({">", "status"})));
    EXPECT_EQ(model.lines(), (Lines{"one", "two", "three", "", ">", "status"}));
}

TEST(Presenter, RedrawsAfterTheTerminalHasWrappedItsLines) {
    Presenter presenter(true, 20, 8);
    presenter.draw({}, frame_of({std::string(20, 'x'), "> "}, 1, 2));
    presenter.resize(10, 8);
    // The first row takes two now, so the viewport begins two rows above the cursor.
    EXPECT_TRUE(
        presenter.draw({}, frame_of({"x", "> "}, 1, 2)).starts_with("\x1b[?2026h\x1b[2A\r"));
}

TEST(Presenter, NeverClearsTheScreen) {
    Presenter presenter(true, 20, 8);
    std::string bytes = presenter.draw(lines_of({"a"}), frame_of({"b", ">"}, 1));
    bytes += presenter.draw({}, frame_of({"c", "d", ">"}, 2));
    bytes += presenter.draw(lines_of({"e"}), frame_of({">"}));
    EXPECT_EQ(bytes.find("\x1b[2J"), std::string::npos);
    EXPECT_EQ(bytes.find("\x1b[J"), std::string::npos);
    EXPECT_EQ(bytes.find("\x1b[3J"), std::string::npos);
    EXPECT_TRUE(bytes.starts_with("\x1b[?2026h"));
    EXPECT_TRUE(bytes.ends_with("\x1b[?2026l"));
}

TEST(Presenter, NeverWritesBeyondTheLastColumn) {
    for (const auto* text :
         {"漢字漢字漢字", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
          "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "\u2764\uFE0F\u2764\uFE0F\u2764\uFE0F"})
        for (std::size_t columns = 1; columns < 8; ++columns)
            EXPECT_LE(width_of(cells_of(plain(text), columns)), columns) << text;
}

TEST(Presenter, KeepsControlCharactersFromTheTerminal) {
    Presenter presenter(false, 40, 8);
    const std::string bytes =
        presenter.draw(lines_of({"a\x1b]0;title\x07z\u009B31m"}), frame_of({">"}));
    EXPECT_NE(bytes.find("a]0;titlez31m"), std::string::npos);
}

TEST(Presenter, UsesNoColoursWhereNoneAreWanted) {
    Presenter presenter(false, 40, 8);
    const std::string bytes = presenter.draw({faced("red", show::Face::Bad)}, frame_of({">"}));
    EXPECT_EQ(bytes.find("\x1b[31m"), std::string::npos);
}

}  // namespace
}  // namespace tui
