// The terminal that the console runs on: raw while this lives, as it was before afterwards, however
// the program ends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/os/files.h"
#include "base/result.h"

namespace tui {

struct Size {
    std::size_t columns{80};
    std::size_t rows{24};
    friend bool operator==(const Size&, const Size&) = default;
};

// Rings from any thread and from signal handlers; poll() sees it.
class Wake {
public:
    Wake();
    int fd() const { return fd_.get(); }
    void ring() const;
    void clear() const;

private:
    base::Fd fd_;
};

// Whether the console can be shown here: standard input and output are a terminal that can move its
// cursor. The error says what to use instead.
base::Status check_terminal();

// At most one at a time.
class Tty {
public:
    // `wake` rings when the window changes its size, and when a signal asks the program to end.
    explicit Tty(const Wake& wake);
    ~Tty();
    Tty(const Tty&) = delete;
    Tty& operator=(const Tty&) = delete;

    // Raw mode, bracketed paste, reports of focus and the disambiguated keys of kitty; and back.
    void enter();
    void leave();

    // What switches to the alternate screen, with the cursor at its begin, and back. The caller
    // writes it; a program that a fault ends leaves the alternate screen by itself.
    static std::string enter_alternate(bool shows_cursor);
    static std::string leave_alternate();

    Size size() const;
    // False when the terminal is gone.
    bool write(std::string_view bytes) const;
    int in() const;
    // A signal has asked the program to end; which one, or 0.
    static int ended_by();
    // The window has changed its size since the last call.
    static bool take_resized();

private:
    struct Saved;

    std::unique_ptr<Saved> saved_;
    bool is_entered_{false};
};

}  // namespace tui
