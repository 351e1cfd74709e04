// What can be completed where the cursor is: a slash command, its arguments, a file after "@".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/compose/draft.h"

namespace tui {

inline constexpr std::size_t kOffersMax = 200;  // Of one menu; more typing brings the others.

// What a completion offers; asked for at each change of the draft, so it must be quick.
struct Offer {
    std::string text;  // Replaces what is completed: all of `typed`.
    std::string note;  // Shown beside it.
    friend bool operator==(const Offer&, const Offer&) = default;
};
struct ComposerParts {
    // The arguments that may follow a slash command ("/agent"), for all that is typed behind it so
    // far ("switch ma"). The fixed words of its usage are offered without it.
    std::function<std::vector<Offer>(const std::string& command, const std::string& typed)>
        arguments;
    // Files whose path begins or matches with what follows an "@".
    std::function<std::vector<Offer>(const std::string& typed)> files;
    // Commands that are not in the table: words that begin with what is typed ("/mcp:s"). Their
    // arguments are offered like those of others.
    std::function<std::vector<Offer>(const std::string& typed)> prompts{};
};

struct Menu {
    enum class Kind { Commands, Arguments, Files };
    Kind kind{Kind::Commands};
    std::vector<Offer> offers{};
    std::size_t begin{0};  // What an offer replaces: bytes of the draft.
    std::size_t end{0};
    std::size_t selected{0};
    bool is_chosen{false};  // The operator moved the selection.
};

// The menu for this draft; empty when there is nothing to offer.
std::optional<Menu> menu_for(const Draft& draft, const ComposerParts& parts);
// How the command of a one-line draft is used, while its arguments are typed; empty otherwise.
std::string usage_hint(const Draft& draft);
// At most `rows` rows with the selected one among them.
std::vector<show::Line> menu_lines(const Menu& menu, std::size_t columns, std::size_t rows);

}  // namespace tui
