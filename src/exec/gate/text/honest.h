// What sounds like an order and is none: manuals, change logs, words in the middle of a sentence.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/scan/scanner.h"

namespace gate {

// Whether the finding is what manuals tell their readers, or no order by its place in the text.
bool is_ordinary(std::string_view text, const scan::Finding& finding);

// "* Disable the validation of packages (Closes: #12)" reports a change; without the log around it,
// it is an order. Where there is a log, an entry that names nobody and gives no address to load is
// a report. One text at a time; the marks of a log are looked for once, when they are first needed.
class History {
public:
    explicit History(std::string_view text) : text_(text) {}

    // Whether the finding is in such an entry.
    bool reports(const scan::Finding& finding);

private:
    bool is_near_mark(std::size_t at);

    std::string_view text_;
    std::optional<std::vector<std::size_t>> marks_;  // In their order.
};

}  // namespace gate
