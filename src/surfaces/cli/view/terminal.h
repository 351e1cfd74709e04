// The terminal or pipes that the command line uses.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"
#include "surfaces/show/line.h"

namespace cli {

inline constexpr std::size_t kSecretBytesMax = 64 * 1024;

// Results go to `out`, progress and errors to `err`.
struct Terminal {
    int in{0};  // A descriptor.
    bool in_is_terminal{false};
    std::FILE* out{stdout};
    std::FILE* err{stderr};
    bool out_is_terminal{false};
    bool err_is_terminal{false};
    bool colours{false};  // On terminals, unless NO_COLOR is set or TERM is dumb.
    bool is_dumb{false};  // It cannot erase what it has printed: TERM=dumb.
    bool plain{false};    // Text instead of JSON in a pipe: --plain.

    static Terminal standard();
    // Is the output read by a person, so that it is text and not JSON?
    bool is_for_people() const { return out_is_terminal || plain; }
    // Can the last line of `err` be drawn again and again?
    bool has_live_line() const { return err_is_terminal && !is_dumb; }
    void print(std::string_view text) const;       // To out, as it is.
    void print_line(std::string_view text) const;  // To out, with a newline.
    void note(std::string_view text) const;        // To err, with a newline.
    // False when some output could not be written: the disk is full, or the reader has closed its
    // pipe.
    bool is_written() const;
    bool out_is_pipe() const;
    // One line of `in`, without its end; prompted for on `err`, and not shown while it is typed on
    // a terminal. Longer than kSecretBytesMax is InvalidInput.
    base::Result<std::string> read_secret(std::string_view prompt) const;
    // Asks on `err`, and returns the line of `in`; empty at its end and after a signal.
    std::string ask(std::string_view question) const;
    // The same; true only for a line that says yes.
    bool confirm(std::string_view question) const;
};

enum class Style { Plain, Dim, Bold, Green, Red, Yellow };
// How to see the next part of a list; nothing after the last part.
void tell_next(const Terminal& terminal, const std::string& next);

std::string styled(const Terminal& terminal, Style style, std::string_view text);
// The line with the colours of its faces, where there are colours.
std::string styled(const Terminal& terminal, const show::Line& line);

struct FrameSize {
    std::size_t columns{80};
    std::size_t rows{24};
};
// Of the terminal behind `err`, as it is now; the default where it is none.
FrameSize size_of(const Terminal& terminal);

// Columns of the terminal behind `out`. Text for a pipe or a file is not cut: there it is
// show::kUnbounded.
std::size_t out_columns(const Terminal& terminal);
// The same of `err`.
std::size_t err_columns(const Terminal& terminal);

}  // namespace cli
