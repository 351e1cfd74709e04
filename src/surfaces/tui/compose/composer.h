// What the operator types: a draft with its history, its menu of commands and files. Pure: it knows
// keys and lines, no terminal and no service.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/compose/draft.h"
#include "surfaces/tui/compose/history.h"
#include "surfaces/tui/compose/menu.h"
#include "surfaces/tui/keys.h"

namespace tui {

inline constexpr std::size_t kComposerRowsMax = 12;
inline constexpr std::size_t kMenuRowsMax = 8;
inline constexpr std::size_t kDraftBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kUndoMax = 100;
inline constexpr std::size_t kUndoBytesMax = 16 * 1024 * 1024;
inline constexpr std::size_t kSearchBytesMax = 200;  // Of the words that history is searched for.

// What a key has led to.
struct Composed {
    enum class What {
        Nothing,  // The draft may have changed: draw it again. `text` may have a hint for the
                  // operator, as why a paste was refused.
        Send,     // `text` is whole; the draft stays until taken() is called.
        Command,  // `text` is a slash command, whole; the draft stays until taken() is called.
        Editor,   // The operator wants to edit the draft in $EDITOR; set_draft() gives it back.
        Unused,   // The composer has no use for this key: Escape on an empty draft, PageUp.
    };
    What what{What::Nothing};
    std::string text{};
    friend bool operator==(const Composed&, const Composed&) = default;
};

struct ComposerView {
    std::vector<show::Line> menu;   // Below or above the draft, at most kMenuRowsMax.
    std::vector<show::Line> draft;  // At most kComposerRowsMax; scrolls inside. Begins with "> ".
    std::size_t cursor_row{0};      // In `draft`.
    std::size_t cursor_column{0};
};

// Keys: Enter sends; Shift+Enter, Alt+Enter, Ctrl+J or a backslash before Enter begin a new line.
// Arrows, Home, End, Ctrl+A/E/B/F/P/N move, with Ctrl or Alt (and Alt+B/F) by words; Up and Down
// browse the history at the ends of the draft, Ctrl+R searches it. Ctrl+H/D delete, Ctrl+U/K/W and
// Alt+D delete and keep, Ctrl+Y brings back, Ctrl+_ undoes. Tab completes, Ctrl+G asks for the
// editor. Escape closes a menu; twice, it clears the draft and keeps it in the history.
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
    // The cursor is at its end. A text of more than kDraftBytesMax is cut.
    void set_draft(const std::string& text);
    // What can be offered has changed.
    void refresh_menu();
    // The draft was sent: it goes to the history and is cleared. What was typed before an entry of
    // the history was called up is the draft again.
    void taken();
    // Oldest first; kept by the caller between starts.
    void set_history(const std::vector<std::string>& entries);
    const std::vector<std::string>& history() const;
    std::string placeholder;  // Shown dim while the draft is empty.

private:
    struct Snapshot {
        Passage passage;
        std::size_t cursor;
    };
    struct Search {
        std::string words;
        std::vector<std::size_t> found;  // Entries of the history.
        std::size_t selected;
    };
    enum class Kill { Before, Behind };

    Composed on_character(const Key& key);
    Composed on_control(char letter);
    Composed on_alt(const std::string& text);
    Composed on_enter(const Key& key);
    Composed on_escape(bool again);
    std::optional<Composed> on_menu_key(const Key& key);
    Composed on_menu_enter();
    Composed on_search_key(const Key& key);
    Composed submit();

    Composed insert(const Passage& passage);
    Composed move(std::size_t to);
    Composed move_row(bool up);
    Composed remove(std::size_t from, std::size_t to);
    Composed kill(std::size_t from, std::size_t to, Kill kill);
    Composed undo();
    Composed browse(bool older);
    void keep_stash();  // In the history: another draft takes its place.
    void complete();
    void find();

    void remember();  // For undo: call it before a change,
    void changed();   // and this after it.
    void clear();

    ComposerParts parts_;
    Draft draft_;
    History history_;
    Passage stash_;  // The draft while the history is browsed.
    Passage killed_;
    std::vector<Snapshot> undo_;
    std::optional<Menu> menu_;
    std::optional<Search> search_;
    std::optional<std::size_t> goal_;  // Cells that Up and Down keep to.
    bool is_typing_{false};            // Typed characters are undone together,
    bool is_killing_{false};           // and what is killed in a row comes back together.
    bool is_escaped_{false};
    // As last drawn: Up and Down move by the rows that the operator sees.
    mutable std::size_t columns_{80};
};

}  // namespace tui
