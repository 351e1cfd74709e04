// The built program on a terminal of some width, and what a person would see there.
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace e2e {

// What a terminal makes of the bytes it is sent: enough of it to see lines that wrap.
class Screen {
public:
    explicit Screen(std::size_t columns) : columns_(columns) {}
    void feed(std::string_view bytes);

    // The lines that are left, without escapes.
    std::string text() const;
    // Lines that were erased after they had wrapped: each leaves its first part behind.
    int floods() const { return floods_; }
    int redraws() const { return redraws_; }
    std::size_t escapes() const { return escapes_; }

private:
    void put(std::string_view character);
    std::size_t escape(std::string_view rest);

    std::size_t columns_;
    std::vector<std::string> lines_{""};
    std::size_t column_{0};
    bool has_wrapped_{false};
    int floods_{0};
    int redraws_{0};
    std::size_t escapes_{0};
};

// The program as the foreground process of a terminal of its own.
class OnTerminal {
public:
    OnTerminal(const Program& program, const std::vector<std::string>& arguments,
               std::size_t columns = 80);
    ~OnTerminal();
    OnTerminal(const OnTerminal&) = delete;
    OnTerminal& operator=(const OnTerminal&) = delete;

    void type(std::string_view text);  // "\x03" is Ctrl-C.
    // Reads until the screen's text has this; false when the program ends first, or in time.
    bool shows(std::string_view text);
    // Reads to the end; the exit code, -1 when a signal ended it.
    int wait();
    const Screen& screen() const { return screen_; }
    std::string text() const { return screen_.text(); }

private:
    bool read_some();

    pid_t pid_{-1};
    base::Fd terminal_;
    Screen screen_;
};

}  // namespace e2e
