#include "tests/e2e/terminal/pty.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>

#include <gtest/gtest.h>

#include "surfaces/show/columns.h"

namespace e2e {

void Screen::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        const char c = bytes.front();
        std::size_t size = 1;
        if (c == '\n') {
            lines_.emplace_back();
            column_ = 0;
            has_wrapped_ = false;
        } else if (c == '\r') {
            column_ = 0;
        } else if (c == '\x1b') {
            size = escape(bytes);
        } else {
            while (size < bytes.size() &&
                   (static_cast<unsigned char>(bytes[size]) & 0xC0U) == 0x80U)
                ++size;
            put(bytes.substr(0, size));
        }
        bytes.remove_prefix(size);
    }
}

void Screen::put(std::string_view character) {
    const std::size_t width = show::columns_of(character);
    if (column_ + width > columns_) {
        has_wrapped_ = true;
        column_ = 0;
    }
    column_ += width;
    lines_.back() += character;
}

std::size_t Screen::escape(std::string_view rest) {
    ++escapes_;
    const auto end = rest.find_first_of("ABCDEFGHJKLMPSTfhlmnsu", 2);
    if (end == std::string_view::npos) return rest.size();
    if (rest[end] == 'K') {
        ++redraws_;
        if (has_wrapped_) ++floods_;
        has_wrapped_ = false;
        lines_.back().clear();
    }
    return end + 1;
}

std::string Screen::text() const {
    std::string text;
    for (const auto& line : lines_) text += line + "\n";
    return text;
}

OnTerminal::OnTerminal(const Program& program, const std::vector<std::string>& arguments,
                       std::size_t columns)
    : screen_(columns) {
    int master = -1;
    int slave = -1;
    std::array<char, 64> name{};
    const winsize size{.ws_row = 24, .ws_col = static_cast<unsigned short>(columns)};
    CHECK(openpty(&master, &slave, name.data(), nullptr, &size) == 0, "a terminal can be made");
    const base::Fd other(slave);
    terminal_ = base::Fd(master);
    fcntl(master, F_SETFD, FD_CLOEXEC);
    std::vector<std::string> argv{HOLON_PROGRAM};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    std::vector<std::string> env;
    for (const auto& [variable, value] : program.environment) env.push_back(variable + "=" + value);
    if (!program.environment.contains("TERM")) env.emplace_back("TERM=xterm");
    const auto pointers = [](std::vector<std::string>& texts) {
        std::vector<char*> all;
        for (auto& text : texts) all.push_back(text.data());
        all.push_back(nullptr);
        return all;
    };
    const auto cwd = program.started_in.empty() ? program.repo() : program.started_in;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, name.data(), O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, cwd.c_str());
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    const int failed = posix_spawn(&pid_, argv[0].c_str(), &actions, &attributes,
                                   pointers(argv).data(), pointers(env).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    CHECK(failed == 0, "the program under test cannot be started");
}

OnTerminal::~OnTerminal() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void OnTerminal::type(std::string_view text) {
    EXPECT_TRUE(base::write_all(terminal_.get(), text));
}

// False at the end, and when nothing comes for a long time.
bool OnTerminal::read_some() {
    pollfd readable{terminal_.get(), POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(kPatience.count())) <= 0) return false;
    std::array<char, 4096> buffer{};
    const ssize_t got = read(terminal_.get(), buffer.data(), buffer.size());
    if (got <= 0) return false;  // EIO: the program has ended.
    screen_.feed({buffer.data(), static_cast<std::size_t>(got)});
    return true;
}

bool OnTerminal::shows(std::string_view text) {
    while (!screen_.text().contains(text))
        if (!read_some()) return false;
    return true;
}

int OnTerminal::wait() {
    while (read_some()) {
    }
    int status = 0;
    CHECK(waitpid(pid_, &status, 0) == pid_, "waitpid");
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace e2e
