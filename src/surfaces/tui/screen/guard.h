// Restores the terminal after a console that was killed, which cannot do it itself.
//
// A small process waits for the end of the console at the other end of a pipe. It uses no time
// while it waits, holds nothing but the terminal, and goes when the console leaves in order.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <atomic>
#include <string_view>

#include "base/os/files.h"

namespace tui {

class Guard {
public:
    // `before` is the mode to restore, and `leave` the bytes that undo what the console turned on.
    // Both live as long as this. Without a process to spare, there is no guard.
    Guard(const termios& before, std::string_view leave, std::string_view leave_alternate);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    // Whether the terminal has the console's modes now.
    void set_raw(bool is_raw);
    void set_alternate(bool is_alternate);

private:
    // In memory that both processes see.
    struct Shared {
        std::atomic<bool> is_raw{false};
        std::atomic<bool> is_alternate{false};
    };

    [[noreturn]] static void watch(int pipe, const Shared& shared, const termios& before,
                                   std::string_view leave, std::string_view leave_alternate);

    Shared* shared_{nullptr};
    base::Fd pipe_;
    pid_t child_{-1};
};

}  // namespace tui
