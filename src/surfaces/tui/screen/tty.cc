#include "surfaces/tui/screen/tty.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "surfaces/tui/screen/guard.h"

namespace tui {
namespace {

constexpr std::size_t kColumnsMin = 20;
constexpr std::size_t kRowsMin = 6;
constexpr std::size_t kSizeMax = 2000;

// A console that was killed has left its modes behind; the first line undoes them. Nothing that is
// drawn is wider than the screen, but a terminal may be made narrower before this program hears of
// it: a row that wraps then would move the cursor to another row than is known here.
constexpr std::string_view kEnter =
    "\x1b[?2026l\x1b[0m\x1b[<u"
    "\x1b[?2004h\x1b[?1004h\x1b[?7l\x1b[>1u";
constexpr std::string_view kLeave =
    "\x1b[?2026l\x1b[<u\x1b[?7h\x1b[?1004l\x1b[?2004l\x1b[0m\x1b[?25h";

constexpr std::string_view kEnterAlternate = "\x1b[?1049h\x1b[H";
constexpr std::string_view kLeaveAlternate = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHideCursor = "\x1b[?25l";

constexpr std::array kEndSignals{SIGTERM, SIGHUP, SIGINT, SIGQUIT};
constexpr std::array kFatalSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// What signal handlers use; set before they are installed.
std::atomic<int> ended_by_signal{0};
std::atomic<bool> is_resized{false};
std::atomic<int> wake_fd{-1};
std::atomic<bool> is_raw{false};
std::atomic<bool> is_alternate{false};
termios before_raw{};
Guard* guard = nullptr;  // Of the one Tty.

void set_alternate(bool value) {
    is_alternate = value;
    if (guard) guard->set_alternate(value);
}

void ring(int fd) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
}

void on_end(int signal) {
    const int saved = errno;
    ended_by_signal = signal;
    ring(wake_fd);
    errno = saved;
}

void on_resize(int /*signal*/) {
    const int saved = errno;
    is_resized = true;
    ring(wake_fd);
    errno = saved;
}

// Leaves a usable terminal behind; then the signal has its usual effect.
void on_fatal(int signal) {
    if (is_raw) {
        // The viewport is below or at the cursor.
        const std::string_view screen = is_alternate ? kLeaveAlternate : "\r\x1b[J";
        [[maybe_unused]] auto written = ::write(STDOUT_FILENO, screen.data(), screen.size());
        written = ::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
        ::tcsetattr(STDIN_FILENO, TCSANOW, &before_raw);
    }
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

void install(int signal, void (*handler)(int), struct sigaction& before) {
    struct sigaction action{};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, &before);
}

}  // namespace

Wake::Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    CHECK(static_cast<bool>(fd_), "eventfd");
}

void Wake::ring() const {
    tui::ring(fd_.get());
}

void Wake::clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
}

base::Status check_terminal() {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        return base::fail(base::ErrorCode::InvalidInput,
                          "the console needs a terminal for its input and its output; in a script "
                          "use holon prompt, holon run or holon tail");
    const char* name = std::getenv("TERM");
    const std::string_view term = name == nullptr ? "" : name;
    if (term.empty() || term == "dumb")
        return base::fail(base::ErrorCode::InvalidInput,
                          "this terminal cannot move its cursor (TERM={}); use holon run, or "
                          "holon prompt with holon tail -f",
                          term.empty() ? "is not set" : term);
    return {};
}

struct Tty::Saved {
    std::array<struct sigaction, kEndSignals.size()> ends{};
    std::array<struct sigaction, kFatalSignals.size()> fatals{};
    struct sigaction resize{};
    std::optional<Guard> guard{};
};

Tty::Tty(const Wake& wake) : saved_(std::make_unique<Saved>()) {
    ended_by_signal = 0;
    is_resized = false;
    wake_fd = wake.fd();
    ::tcgetattr(STDIN_FILENO, &before_raw);
    guard = &saved_->guard.emplace(before_raw, kLeave, kLeaveAlternate);
    for (std::size_t i = 0; i < kEndSignals.size(); ++i)
        install(kEndSignals[i], on_end, saved_->ends[i]);
    for (std::size_t i = 0; i < kFatalSignals.size(); ++i)
        install(kFatalSignals[i], on_fatal, saved_->fatals[i]);
    install(SIGWINCH, on_resize, saved_->resize);
    enter();
}

Tty::~Tty() {
    leave();
    for (std::size_t i = 0; i < kEndSignals.size(); ++i)
        ::sigaction(kEndSignals[i], &saved_->ends[i], nullptr);
    for (std::size_t i = 0; i < kFatalSignals.size(); ++i)
        ::sigaction(kFatalSignals[i], &saved_->fatals[i], nullptr);
    ::sigaction(SIGWINCH, &saved_->resize, nullptr);
    wake_fd = -1;
    guard = nullptr;
}

void Tty::enter() {
    if (is_entered_) return;
    termios raw = before_raw;
    ::cfmakeraw(&raw);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    is_entered_ = is_raw = true;
    guard->set_raw(true);
    write(kEnter);
}

void Tty::leave() {
    if (!is_entered_) return;
    write(kLeave);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_raw);
    is_entered_ = is_raw = false;
    guard->set_raw(false);
}

std::string Tty::enter_alternate(bool shows_cursor) {
    set_alternate(true);
    return std::string(kEnterAlternate) + (shows_cursor ? "" : std::string(kHideCursor));
}

std::string Tty::leave_alternate() {
    set_alternate(false);
    return std::string(kLeaveAlternate);
}

Size Tty::size() const {
    winsize window{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
    return {std::clamp<std::size_t>(window.ws_col, kColumnsMin, kSizeMax),
            std::clamp<std::size_t>(window.ws_row, kRowsMin, kSizeMax)};
}

bool Tty::write(std::string_view bytes) const {
    return bytes.empty() || base::write_all(STDOUT_FILENO, bytes);
}

int Tty::in() const {
    return STDIN_FILENO;
}

int Tty::ended_by() {
    return ended_by_signal;
}

bool Tty::take_resized() {
    return is_resized.exchange(false);
}

}  // namespace tui
