// What is drawn, before it is bytes: one line as pieces of text, each with its face. Texts are
// valid UTF-8 without control characters.
#pragma once

#include <string>
#include <vector>

namespace show {

// What a piece of text is. The colours are chosen where it is written.
enum class Face {
    Plain,
    Dim,      // Beside the point: times, hints, what is cut.
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

}  // namespace show
