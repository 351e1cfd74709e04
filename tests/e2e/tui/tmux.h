// The built program in a real terminal emulator, and what a person would see there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/daemon/daemon_world.h"

namespace e2e {

// A tmux of its own with one window, in which a shell waits for commands. A missing tmux fails the
// test.
class Tmux {
public:
    explicit Tmux(DaemonWorld& world, int columns = 80, int rows = 24);
    ~Tmux();
    Tmux(const Tmux&) = delete;
    Tmux& operator=(const Tmux&) = delete;

    // Types a command of the program into the shell.
    void run(const std::string& arguments);
    // The same for `holon tui`, and waits until its composer can be seen.
    void open_console(const std::string& options = "");
    // The same, and waits for nothing.
    void start_console(const std::string& options = "");
    void type(std::string_view text);
    void key(const std::string& name);  // "Enter", "C-c", "Escape", "Up"
    void paste(std::string_view text);  // As the terminal does it, bracketed.
    void resize(int columns, int rows);
    // What is on the screen, and with all that has scrolled off it.
    std::string screen();
    std::string all();
    // Waits until the screen has the text, or no longer has it. False: not in time.
    bool shows(std::string_view text);
    bool hides(std::string_view text);
    // The same for the whole scrollback.
    bool has(std::string_view text);
    // Waits for the shell's prompt on the last line: no program is running.
    bool is_at_shell();
    // The bytes that the program sends from now on.
    void record();
    std::string recorded() const;
    // The process of the console that open_console() started.
    pid_t console() const;

private:
    std::string ask(std::vector<std::string> words);

    DaemonWorld& world_;
    std::string name_;
    int runs_{0};
};

}  // namespace e2e
