#include "surfaces/show/markdown/blocks.h"

#include <algorithm>

#include "base/text.h"
#include "surfaces/show/markdown/markdown.h"

namespace show {
namespace {

constexpr std::size_t kFenceMin = 3;
constexpr std::size_t kFenceIndentMax = 3;
constexpr std::size_t kNumberDigitsMax = 9;

std::size_t indent_of(std::string_view line) {
    return std::min(line.find_first_not_of(" \t"), line.size());
}

// "- x", "12. x"
bool begins_item(std::string_view line) {
    line.remove_prefix(indent_of(line));
    if (line.empty()) return false;
    std::size_t at = 0;
    if (line.front() == '-' || line.front() == '+' || line.front() == '*') {
        at = 1;
    } else {
        while (at < line.size() && at < kNumberDigitsMax && line[at] >= '0' && line[at] <= '9')
            ++at;
        if (at == 0 || at == line.size() || (line[at] != '.' && line[at] != ')')) return false;
        ++at;
    }
    return at == line.size() || line[at] == ' ' || line[at] == '\t';
}

struct Fence {
    char mark{'\0'};
    std::size_t length{0};
    std::string_view rest{};  // Behind the marks.
};

// The fence that the line may be; of length 0 when it is none.
Fence fence_of(std::string_view line) {
    const std::size_t indent = indent_of(line);
    if (indent > kFenceIndentMax || indent == line.size()) return {};
    line.remove_prefix(indent);
    const char mark = line.front();
    const std::size_t length = std::min(line.find_first_not_of(mark), line.size());
    if ((mark != '`' && mark != '~') || length < kFenceMin) return {};
    return {.mark = mark, .length = length, .rest = base::trim(line.substr(length))};
}

bool opens(const Fence& fence) {
    return fence.length > 0 && !(fence.mark == '`' && fence.rest.find('`') != fence.rest.npos);
}

// Reads lines and finds where blocks end.
class Splitter {
public:
    // The byte at which a block ends with this line: its begin or its end; npos when none does.
    std::size_t read(std::string_view line, std::size_t begin, std::size_t end) {
        if (fence_.length > 0) return read_code(line, end);
        if (base::trim(line).empty()) {
            if (is_list_) is_after_blank_ = true;
            return has_content_ && !is_list_ ? finish(end) : kNone;
        }
        const Fence fence = fence_of(line);
        // What is indented belongs to the list above it.
        const bool ends_list = is_list_ && is_after_blank_ && indent_of(line) == 0;
        const bool ends = ends_list || (has_content_ && !is_list_ && opens(fence));
        if (ends) finish(begin);
        has_content_ = true;
        is_after_blank_ = false;
        is_list_ = is_list_ || begins_item(line);
        if (opens(fence)) fence_ = fence;
        return ends ? begin : kNone;
    }

    // A line that is not yet written to its end can only end a list.
    bool is_ended_by_part(std::string_view line) const {
        return fence_.length == 0 && is_list_ && is_after_blank_ && !base::trim(line).empty() &&
               indent_of(line) == 0;
    }

    static constexpr std::size_t kNone = std::string_view::npos;

private:
    std::size_t read_code(std::string_view line, std::size_t end) {
        const Fence fence = fence_of(line);
        const bool closes =
            fence.mark == fence_.mark && fence.length >= fence_.length && fence.rest.empty();
        if (!closes) return kNone;
        fence_ = {};
        return is_list_ ? kNone : finish(end);
    }

    std::size_t finish(std::size_t at) {
        has_content_ = false;
        is_list_ = false;
        is_after_blank_ = false;
        return at;
    }

    Fence fence_;
    bool has_content_{false};
    bool is_list_{false};
    bool is_after_blank_{false};
};

struct Cuts {
    std::vector<std::size_t> ends;
    bool is_ended_by_part{false};
    std::size_t part_begin{0};
};

// Where blocks end. The last line counts as whole when `is_final`.
Cuts cuts_of(std::string_view text, bool is_final) {
    Cuts cuts;
    Splitter splitter;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t newline = text.find('\n', begin);
        const bool is_whole = newline != std::string_view::npos;
        const std::string_view line = text.substr(begin, newline - begin);
        if (!is_whole && !is_final) {
            cuts.is_ended_by_part = splitter.is_ended_by_part(line);
            cuts.part_begin = begin;
            break;
        }
        const std::size_t end = is_whole ? newline + 1 : text.size();
        if (const std::size_t cut = splitter.read(line, begin, end); cut != Splitter::kNone)
            cuts.ends.push_back(cut);
        begin = end;
    }
    return cuts;
}

}  // namespace

std::vector<std::string_view> markdown_blocks(std::string_view text) {
    std::vector<std::string_view> blocks;
    std::size_t begin = 0;
    for (const std::size_t end : cuts_of(text, true).ends) {
        if (end > begin) blocks.push_back(text.substr(begin, end - begin));
        begin = end;
    }
    if (begin < text.size()) blocks.push_back(text.substr(begin));
    return blocks;
}

std::size_t finished_blocks(std::string_view text) {
    const Cuts cuts = cuts_of(text, false);
    if (cuts.is_ended_by_part) return cuts.part_begin;
    return cuts.ends.empty() ? 0 : cuts.ends.back();
}

}  // namespace show
