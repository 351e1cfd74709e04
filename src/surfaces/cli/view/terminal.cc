#include "surfaces/cli/view/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"
#include "surfaces/show/columns.h"

namespace cli {
namespace {

volatile std::sig_atomic_t caught = 0;

// While it lives, typed text is not shown. A signal that would end the program only interrupts the
// read, so that the terminal is restored first; the signal is then raised again.
class NoEcho {
public:
    explicit NoEcho(int fd) : fd_(fd) {
        caught = 0;
        struct sigaction action{};
        action.sa_handler = [](int signal) { caught = signal; };
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            sigaction(kSignals[i], &action, &former_actions_[i]);
        is_set_ = tcgetattr(fd_, &former_) == 0;
        if (!is_set_) return;
        termios silent = former_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        silent.c_lflag |= ECHONL;
        tcsetattr(fd_, TCSAFLUSH, &silent);
    }
    ~NoEcho() {
        if (is_set_) tcsetattr(fd_, TCSAFLUSH, &former_);
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            sigaction(kSignals[i], &former_actions_[i], nullptr);
        if (caught != 0) std::raise(caught);
    }
    NoEcho(const NoEcho&) = delete;
    NoEcho& operator=(const NoEcho&) = delete;

private:
    static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    int fd_;
    bool is_set_{false};
    termios former_{};
    std::array<struct sigaction, kSignals.size()> former_actions_{};
};

// While it lives, a signal that would end the program can be read from a pipe instead, whichever
// thread it met.
class SignalPipe {
public:
    SignalPipe() {
        if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
        write_end_ = ends_[1];
        struct sigaction action{};
        action.sa_handler = [](int) {
            const int before = errno;
            [[maybe_unused]] const ssize_t written = write(write_end_, "!", 1);
            errno = before;
        };
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            sigaction(kSignals[i], &action, &former_[i]);
    }
    ~SignalPipe() {
        if (ends_[0] < 0) return;
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            sigaction(kSignals[i], &former_[i], nullptr);
        close(ends_[0]);
        close(ends_[1]);
    }
    SignalPipe(const SignalPipe&) = delete;
    SignalPipe& operator=(const SignalPipe&) = delete;

    // Waits until there is something to read; false when a signal came first.
    bool wait_for(int fd) const {
        std::array<pollfd, 2> both{pollfd{fd, POLLIN, 0}, pollfd{ends_[0], POLLIN, 0}};
        while (poll(both.data(), both.size(), -1) < 0 && errno == EINTR) {
        }
        return both[1].revents == 0;
    }

private:
    static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
    static inline volatile std::sig_atomic_t write_end_ = -1;
    std::array<int, 2> ends_{-1, -1};
    std::array<struct sigaction, kSignals.size()> former_{};
};

base::Result<std::string> read_line(int fd) {
    std::string line;
    char c = 0;
    while (true) {
        const ssize_t got = read(fd, &c, 1);
        if (got < 0 && errno == EINTR && caught == 0) continue;
        if (got < 0) return base::fail_errno("read the credential");
        if (got == 0 || c == '\n') break;
        if (line.size() >= kSecretBytesMax)
            return base::fail(base::ErrorCode::InvalidInput, "the line is too long");
        line += c;
    }
    while (line.ends_with('\r')) line.pop_back();
    return line;
}

}  // namespace

base::Result<std::string> Terminal::read_secret(std::string_view prompt) const {
    if (!in_is_terminal) return read_line(in);
    std::fwrite(prompt.data(), 1, prompt.size(), err);
    std::fflush(err);
    const NoEcho quiet(in);
    return read_line(in);
}

bool Terminal::confirm(std::string_view question) const {
    const std::string line = ask(question);
    return line == "y" || line == "Y" || line == "yes";
}

std::string Terminal::ask(std::string_view question) const {
    std::fwrite(question.data(), 1, question.size(), err);
    std::fflush(err);
    const SignalPipe signals;
    if (!signals.wait_for(in)) {
        note("");
        return "";
    }
    return read_line(in).value_or("");
}

Terminal Terminal::standard() {
    Terminal terminal;
    terminal.in_is_terminal = isatty(STDIN_FILENO) == 1;
    terminal.out_is_terminal = isatty(STDOUT_FILENO) == 1;
    terminal.err_is_terminal = isatty(STDERR_FILENO) == 1;
    const char* no_colour = std::getenv("NO_COLOR");
    const char* kind = std::getenv("TERM");
    terminal.is_dumb = kind == nullptr || *kind == '\0' || std::string_view(kind) == "dumb";
    terminal.colours = terminal.err_is_terminal && !terminal.is_dumb &&
                       (no_colour == nullptr || *no_colour == '\0');
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

void tell_next(const Terminal& terminal, const std::string& next) {
    if (!next.empty() && terminal.err_is_terminal)
        terminal.note("Older ones: the same command with --before " + base::printable(next));
}

void Terminal::note(std::string_view text) const {
    // One call, which locks `err`: else the live line of another thread could erase the text before
    // its line has ended.
    const std::string line = std::string(text) + "\n";
    std::fwrite(line.data(), 1, line.size(), err);
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

namespace {

const char* code_of(show::Face face) {
    switch (face) {
        case show::Face::Plain:
            return "";
        case show::Face::Dim:
        case show::Face::Link:
            return "2";
        case show::Face::Bold:
        case show::Face::Heading:
            return "1";
        case show::Face::Italic:
            return "3";
        case show::Face::Accent:
        case show::Face::Code:
            return "36";
        case show::Face::Good:
        case show::Face::Added:
            return "32";
        case show::Face::Bad:
        case show::Face::Removed:
            return "31";
        case show::Face::Warning:
            return "33";
        case show::Face::Selected:
            return "7";
    }
    return "";
}

}  // namespace

std::string styled(const Terminal& terminal, const show::Line& line) {
    std::string text;
    for (const auto& span : line) {
        const std::string_view code = code_of(span.face);
        text += !terminal.colours || code.empty()
                    ? span.text
                    : fmt::format("\x1b[{}m{}\x1b[0m", code, span.text);
    }
    return text;
}

namespace {

std::size_t columns_behind(std::FILE* stream, std::size_t otherwise) {
    winsize size{};
    if (::ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
    return size.ws_col;
}

}  // namespace

FrameSize size_of(const Terminal& terminal) {
    winsize size{};
    FrameSize out;
    if (::ioctl(fileno(terminal.err), TIOCGWINSZ, &size) != 0) return out;
    if (size.ws_col > 0) out.columns = size.ws_col;
    if (size.ws_row > 0) out.rows = size.ws_row;
    return out;
}

std::size_t out_columns(const Terminal& terminal) {
    return terminal.out_is_terminal ? columns_behind(terminal.out, FrameSize{}.columns)
                                    : show::kUnbounded;
}

std::size_t err_columns(const Terminal& terminal) {
    return terminal.err_is_terminal ? columns_behind(terminal.err, FrameSize{}.columns)
                                    : show::kUnbounded;
}

}  // namespace cli
