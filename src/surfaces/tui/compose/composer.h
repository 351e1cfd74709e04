// What the operator types: a draft with its history, its menu of commands and files. Pure: it knows
// keys and lines, no terminal and no service.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/keys.h"

namespace tui {

inline constexpr std::size_t kComposerRowsMax = 12;
inline constexpr std::size_t kMenuRowsMax = 8;
inline constexpr std::size_t kHistoryMax = 1000;
inline constexpr std::size_t kDraftBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kPasteFoldLines = 8;      // A paste of more lines, or
inline constexpr std::size_t kPasteFoldBytes = 1000;   // of more bytes, is shown as one piece.

// What a completion offers; asked for at each change of the draft, so it must be quick.
struct Offer {
    std::string text;  // Replaces what is completed.
    std::string note;  // Shown beside it.
};
struct ComposerParts {
    // The arguments that may follow a slash command, for what is typed so far.
    std::function<std::vector<Offer>(const std::string& command, const std::string& typed)> arguments;
    // Files whose path begins or matches with what follows an "@".
    std::function<std::vector<Offer>(const std::string& typed)> files;
};

// What a key has led to.
struct Composed {
    enum class What {
        Nothing,   // The draft may have changed: draw it again.
        Send,      // `text` is whole; the draft stays until taken() is called.
        Command,   // `text` is a slash command, whole.
        Editor,    // The operator wants to edit the draft in $EDITOR; set_draft() gives it back.
        Unused,    // The composer has no use for this key: Escape on an empty draft, PageUp.
    };
    What what{What::Nothing};
    std::string text{};
};

struct ComposerView {
    std::vector<show::Line> menu;   // Below or above the draft, at most kMenuRowsMax.
    std::vector<show::Line> draft;  // At most kComposerRowsMax; scrolls inside.
    std::size_t cursor_row{0};      // In `draft`.
    std::size_t cursor_column{0};
};

class Composer {
public:
    explicit Composer(ComposerParts parts);

    Composed on_key(const Key& key);
    ComposerView view(std::size_t columns) const;

    // The text with folded pastes in full.
    std::string text() const;
    bool is_empty() const;
    // A menu or the search of the history is open: Escape closes it first.
    bool has_menu() const;
    void set_draft(const std::string& text);  // The cursor is at its end.
    // The draft was sent: it goes to the history and is cleared.
    void taken();
    // Oldest first; kept by the caller between starts.
    void set_history(std::vector<std::string> entries);
    const std::vector<std::string>& history() const;
    std::string placeholder;  // Shown dim while the draft is empty.

private:
    // The implementer's.
};

}  // namespace tui
