// What is drawn, before it is bytes: one line as pieces of text, each with its face. Texts are
// valid UTF-8 without control characters.
#pragma once

#include <string>
#include <vector>

namespace show {

// What a piece of text is. The colours are chosen where it is written.
enum class Face {
    Plain,
    Dim,      // Less important: times, hints, what is cut.
    Bold,     // Also what is strong in Markdown.
    Italic,   // What is emphasised in Markdown.
    Accent,   // Names that can be used in a command: agents, tasks.
    Code,     // Code in a text or in a block of its own.
    Heading,  // Of Markdown.
    Link,     // The address behind a text.
    Good,
    Bad,
    Warning,
    Added,     // A line that a change adds.
    Removed,   // A line that a change removes.
    Selected,  // The chosen row of a list.
};

struct Span {
    std::string text;
    Face face{Face::Plain};
    friend bool operator==(const Span&, const Span&) = default;
};

using Line = std::vector<Span>;

// Where a line may be broken: at blanks where there are some, or behind any character, as code.
enum class Break { Words, Anywhere };

std::string text_of(const Line& line);
std::size_t columns_of(const Line& line);
// The line, cut to `columns` with an ellipsis.
Line fitted(const Line& line, std::size_t columns);
// The line, filled with blanks to `columns`.
Line padded(Line line, std::size_t columns);
// Lines of at most `columns`, which are 2 or more. A newline in a text ends a line, too. An empty
// line is one empty line.
std::vector<Line> wrapped(const Line& line, std::size_t columns, Break breaks = Break::Words);

}  // namespace show
