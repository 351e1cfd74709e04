// What the operator did at the keyboard, after the terminal's bytes were read.
#pragma once

#include <string>

namespace tui {

enum class KeyName {
    Character,  // `text` has it. With `ctrl` or `alt` it is the letter, in lower case.
    Paste,      // `text` has all that was pasted, line ends as "\n", nothing else that controls.
    Enter,
    Tab,
    Escape,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    FocusIn,   // The terminal's window is looked at,
    FocusOut,  // or no longer.
};

struct Key {
    KeyName name{KeyName::Character};
    std::string text{};
    bool ctrl{false};
    bool alt{false};
    bool shift{false};
    friend bool operator==(const Key&, const Key&) = default;
};

}  // namespace tui
