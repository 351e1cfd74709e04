// The text that is being written, and where its cursor is. A folded paste is one character of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tui {

inline constexpr std::size_t kPasteFoldLines = 8;     // A paste of more lines, or
inline constexpr std::size_t kPasteFoldBytes = 1000;  // of more bytes, is shown as one piece.

struct Paste {
    std::string text;
    std::string label;  // "[pasted 1,024 lines]"
};

// Text with folded pastes in it: each kFold of `text` stands for the next one of `pastes`. No other
// control characters but newlines and tabs are in it, and it is valid UTF-8.
struct Passage {
    static constexpr char kFold = '\x01';
    std::string text{};
    std::vector<std::shared_ptr<const Paste>> pastes{};

    std::string whole() const;  // With the pastes in full.
    std::size_t whole_bytes() const;
};

// Safe text of anything: line ends become "\n", other control characters but tabs are left out.
std::string clean(std::string_view text);
// What is pasted, folded when it is long.
Passage pasted(std::string_view text);

class Draft {
public:
    const Passage& passage() const { return passage_; }
    const std::string& text() const { return passage_.text; }  // With folds.
    std::size_t cursor() const { return cursor_; }             // A byte of text().
    // The label of the paste that the kFold at this byte stands for.
    const std::string& label_at(std::size_t at) const;

    void set(Passage passage, std::size_t cursor);
    void insert(const Passage& passage);              // At the cursor, which moves behind it.
    Passage erase(std::size_t from, std::size_t to);  // The cursor is where it was taken from.
    void move_to(std::size_t at) { cursor_ = at; }    // Of those below.

    // Bytes of text(), from the cursor. Each is the cursor's own where there is nowhere to go.
    std::size_t left() const;
    std::size_t right() const;
    std::size_t word_left() const;
    std::size_t word_right() const;
    std::size_t blank_left() const;  // Over a word with all but blanks in it, as Ctrl+W has it.
    std::size_t line_begin() const;
    std::size_t line_end() const;

private:
    std::size_t folds_before(std::size_t at) const;

    Passage passage_;
    std::size_t cursor_{0};
};

}  // namespace tui
