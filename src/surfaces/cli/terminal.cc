#include "surfaces/cli/terminal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

namespace cli {

Terminal Terminal::standard() {
    Terminal terminal;
    terminal.out_is_terminal = isatty(STDOUT_FILENO) == 1;
    terminal.err_is_terminal = isatty(STDERR_FILENO) == 1;
    const char* no_colour = std::getenv("NO_COLOR");
    terminal.colours = terminal.err_is_terminal && (no_colour == nullptr || *no_colour == '\0');
    return terminal;
}

void Terminal::print(std::string_view text) const {
    std::fwrite(text.data(), 1, text.size(), out);
}

void Terminal::print_line(std::string_view text) const {
    print(text);
    print("\n");
    std::fflush(out);
}

void Terminal::note(std::string_view text) const {
    std::fwrite(text.data(), 1, text.size(), err);
    std::fputc('\n', err);
    std::fflush(err);
}

bool Terminal::is_written() const {
    return std::fflush(out) == 0 && std::ferror(out) == 0;
}

bool Terminal::out_is_pipe() const {
    struct stat info{};
    return fstat(fileno(out), &info) == 0 && S_ISFIFO(info.st_mode);
}

std::string styled(const Terminal& terminal, Style style, std::string_view text) {
    if (!terminal.colours || style == Style::Plain) return std::string(text);
    const char* code = "";
    switch (style) {
        case Style::Plain:
            break;
        case Style::Dim:
            code = "2";
            break;
        case Style::Bold:
            code = "1";
            break;
        case Style::Green:
            code = "32";
            break;
        case Style::Red:
            code = "31";
            break;
        case Style::Yellow:
            code = "33";
            break;
    }
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string duration_text(std::int64_t milliseconds) {
    if (milliseconds < 10'000)
        return fmt::format("{:.1f}s", static_cast<double>(milliseconds) / 1000);
    const std::int64_t seconds = milliseconds / 1000;
    if (seconds < 60) return fmt::format("{}s", seconds);
    if (seconds < 3600) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
    return fmt::format("{}h {:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string count_text(std::int64_t number) {
    if (number < 1000) return std::to_string(number);
    if (number < 1'000'000) return fmt::format("{:.1f}k", static_cast<double>(number) / 1000);
    return fmt::format("{:.1f}M", static_cast<double>(number) / 1'000'000);
}

std::string age_text(std::int64_t seconds) {
    if (seconds < 5) return "just now";
    if (seconds < 120) return fmt::format("{}s ago", seconds);
    if (seconds < 7200) return fmt::format("{}m ago", seconds / 60);
    if (seconds < 172'800) return fmt::format("{}h ago", seconds / 3600);
    return fmt::format("{}d ago", seconds / 86'400);
}

}  // namespace cli
