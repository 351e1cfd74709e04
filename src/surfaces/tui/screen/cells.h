// A line as the cells of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "surfaces/show/line.h"

namespace tui {

// A character with all that is drawn on top of it.
struct ScreenCell {
    std::string text;
    show::Face face{show::Face::Plain};
    std::size_t columns{1};
    // One code point, on whose width all terminals agree. Behind another cell the column of the
    // cursor is not certain.
    bool is_simple{true};
    friend bool operator==(const ScreenCell&, const ScreenCell&) = default;
};

// The cells of a line that fit into `columns`. What controls a terminal is left out.
std::vector<ScreenCell> cells_of(const show::Line& line, std::size_t columns);
std::size_t width_of(const std::vector<ScreenCell>& cells);

// What turns a face on; empty for plain text. Without colours only bold, dim and reverse are left.
std::string_view sgr_of(show::Face face, bool colours);

// Small makers of lines.
show::Line plain(std::string text);
show::Line dim(std::string text);
show::Line faced(std::string text, show::Face face);
void append(show::Line& line, const show::Line& more);

}  // namespace tui
