// The terminal or pipes that the command line uses.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

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
    bool colours{false};  // On `err`; only on a terminal and unless NO_COLOR is set.

    static Terminal standard();
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
    // Asks on `err`; true only for a line of `in` that says yes.
    bool confirm(std::string_view question) const;
};

enum class Style { Plain, Dim, Bold, Green, Red, Yellow };
// How to see the next part of a list; nothing after the last part.
void tell_next(const Terminal& terminal, const std::string& next);

std::string styled(const Terminal& terminal, Style style, std::string_view text);

// "0.4s", "12s", "3m 04s"
std::string duration_text(std::int64_t milliseconds);
// The summary of failed requests to models, for people: the causes without the names of their
// kinds. "a/m: fail_fast (auth_error, status=401): X" is "a/m: X".
std::string failure_text(std::string_view summary);
// "950", "4.2k", "1.3M"
std::string count_text(std::int64_t number);
// "just now", "5m ago", "3d ago"
std::string age_text(std::int64_t seconds);

}  // namespace cli
