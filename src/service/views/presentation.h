// Events in words for people. Every surface gets its sentence from here, so that a console and a
// log describe one event alike; each surface decides by visibility, category and its own mode what
// it shows.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/typed.h"
#include "domain/events/kinds.h"
#include "domain/events/tools.h"
#include "domain/record.h"

namespace views {

using domain::events::Category;
using domain::events::category_of;
using domain::events::DisplayMode;
using domain::events::Visibility;

// 1 to 5
constexpr int level_of(Visibility visibility) {
    return static_cast<int>(visibility) + 1;
}

inline constexpr std::size_t kTitleChars = 32;
inline constexpr std::size_t kSummaryChars = 120;

struct PresentedEvent {
    Visibility visibility{Visibility::Trace};
    Category category{Category::Trace};
    std::string title;                  // At most kTitleChars.
    std::optional<std::string> body{};  // Detail, perhaps of several lines.
    std::string summary;                // One line, at most kSummaryChars.
    std::string source_event_kind;
    friend bool operator==(const PresentedEvent&, const PresentedEvent&) = default;
};
BOOST_DESCRIBE_STRUCT(PresentedEvent, (),
                      (visibility, category, title, body, summary, source_event_kind))

PresentedEvent present(const domain::Event& event);

// How a command or another call ended, in a few words: "exit 2", "ended by signal 9", "continues in
// the background", "timeout"; empty where there is nothing to add to its summary.
std::string outcome_of(const domain::events::ToolExecuted& done);

// 3, 4, 5
constexpr int number_of(DisplayMode mode) {
    return static_cast<int>(mode) + 3;
}
// A name in any case, or its number.
std::optional<DisplayMode> parse_display_mode(std::string_view text);

// Whether the conversation has a row for the event in this mode.
bool is_shown(const domain::Event& event, const PresentedEvent& presented, DisplayMode mode);

// What the agent is doing right now, in one line; empty while it sleeps. It belongs to one turn:
// the end of a turn or the start of another empties it.
std::string activity_after(std::string_view activity, const domain::Event& event);

}  // namespace views
