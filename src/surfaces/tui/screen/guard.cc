#include "surfaces/tui/screen/guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <new>

namespace tui {
namespace {

constexpr int kPipe = 3;  // Of the guard: behind the terminal.
constexpr char kLeft = 'x';

void write_quietly(std::string_view bytes) {
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
}

// A shell that edits its own lines has set its own modes by now.
bool is_as_the_console_left_it() {
    termios now{};
    if (::tcgetattr(STDIN_FILENO, &now) != 0) return false;
    return (now.c_oflag & OPOST) == 0 && (now.c_lflag & ISIG) == 0;
}

}  // namespace

// After a fork of a process with threads: system calls only.
void Guard::watch(int pipe, const Shared& shared, const termios& before, std::string_view leave,
                  std::string_view leave_alternate) {
    ::setsid();  // Keys and the shell's job control do not reach it.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU, SIGPIPE, SIGWINCH})
        std::signal(signal, SIG_IGN);
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
        std::signal(signal, SIG_DFL);
    if (::dup2(pipe, kPipe) < 0) ::_exit(1);
    ::close_range(kPipe + 1, ~0U, 0);
    char byte = 0;
    ssize_t got = 0;
    do got = ::read(kPipe, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got == 0 && shared.is_raw) {
        if (shared.is_alternate) write_quietly(leave_alternate);
        write_quietly(leave);
        if (is_as_the_console_left_it()) ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
    }
    ::_exit(0);
}

Guard::Guard(const termios& before, std::string_view leave, std::string_view leave_alternate) {
    void* const page =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    shared_ = new (page) Shared;
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const base::Fd read_end(ends[0]);
    base::Fd write_end(ends[1]);
    child_ = ::fork();
    if (child_ == 0) watch(read_end.get(), *shared_, before, leave, leave_alternate);
    if (child_ > 0) pipe_ = std::move(write_end);
}

Guard::~Guard() {
    if (child_ > 0) {
        [[maybe_unused]] const auto written = ::write(pipe_.get(), &kLeft, 1);
        pipe_ = base::Fd();
        while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    if (shared_) ::munmap(shared_, sizeof(Shared));
}

void Guard::set_raw(bool is_raw) {
    if (shared_) shared_->is_raw = is_raw;
}

void Guard::set_alternate(bool is_alternate) {
    if (shared_) shared_->is_alternate = is_alternate;
}

}  // namespace tui
