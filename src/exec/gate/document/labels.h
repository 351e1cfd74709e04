// Lines of the form "Label: value", in the dresses that people give them in Markdown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gate {

struct LabelledLine {
    std::string_view label;  // Without marks: "Network confirmation".
    std::string_view value;  // Trimmed; empty when it follows on the next lines.
};

// "- Label: value", "**Label:** value", "* `Label`: value"; nothing for a line without a label.
std::optional<LabelledLine> labelled_line(std::string_view line);

// The value of a line with just this label, in any case.
std::optional<std::string_view> labelled(std::string_view line, std::string_view label);

// A JSON string or a `code span` as what it stands for; anything else as it is.
std::string unquoted(std::string_view value);

// Whether `text` has `word`, in any case, with no letter next to it.
bool has_word(std::string_view text, std::string_view word);

}  // namespace gate
