#include "exec/gate/text/joints.h"

#include <algorithm>

namespace gate {
namespace {

constexpr std::size_t kIndentMax = 80;  // Blanks on each side of a line end.

bool is_begin(char c) {
    return c == '\\' || c == '"' || c == '\'' || c == '`';
}

std::size_t next_begin(std::string_view text, const Outline& outline, std::size_t at) {
    while (true) {
        at = outline.next_quote(at);
        const std::size_t stop =
            std::min(text.size(), (at / Outline::kBlockBytes + 1) * Outline::kBlockBytes);
        while (at < stop && !is_begin(text[at])) ++at;
        if (at < stop || at == text.size()) return at;
    }
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
    const std::size_t limit = std::min(text.size(), at + kIndentMax);
    while (at < limit && (text[at] == ' ' || text[at] == '\t')) ++at;
    return at;
}

// Behind the line end at `at`, or `at` when there is none.
std::size_t skip_line_end(std::string_view text, std::size_t at) {
    const std::size_t next = at + (text.substr(at).starts_with("\r\n") ? 2 : 1);
    return at < text.size() && (text[at] == '\n' || next == at + 2) ? next : at;
}

// The length of the joint that begins at `at`, or 0.
std::size_t joint_at(std::string_view text, std::size_t at) {
    const char first = text[at];
    if (first == '\\') {
        const std::size_t next = skip_line_end(text, at + 1);
        return next == at + 1 ? 0 : skip_blanks(text, next) - at;
    }
    if (first != '"' && first != '\'' && first != '`') return 0;
    std::size_t next = skip_blanks(text, at + 1);
    bool is_joined = false;  // Two adjacent literals are separate, unless an operator joins them.
    const auto skip_sign = [&] {
        if (next >= text.size() || !std::string_view("+.\\").contains(text[next])) return;
        is_joined = true;
        next = skip_blanks(text, next + 1);
    };
    skip_sign();
    const std::size_t line = skip_line_end(text, next);
    is_joined = is_joined || line > next;
    next = skip_blanks(text, line);
    skip_sign();
    return is_joined && next < text.size() && text[next] == first ? next + 1 - at : 0;
}

}  // namespace

Joined::Joined(std::string_view text, const Outline& outline) {
    std::size_t copied = 0, removed = 0;
    for (std::size_t at = next_begin(text, outline, 0); at < text.size();
         at = next_begin(text, outline, at)) {
        const std::size_t length = joint_at(text, at);
        if (length == 0) {
            ++at;
            continue;
        }
        joined_ += text.substr(copied, at - copied);
        copied = at = at + length;
        removed += length;
        joints_.push_back({joined_.size(), removed});
    }
    if (has_joints()) joined_ += text.substr(copied);
}

bool Joined::spans_joint(std::size_t begin, std::size_t end) const {
    const auto next = std::ranges::upper_bound(joints_, begin, {}, &Joint::at);
    return next != joints_.end() && next->at < end;
}

std::size_t Joined::original_of(std::size_t at) const {
    const auto next = std::ranges::upper_bound(joints_, at, {}, &Joint::at);
    return next == joints_.begin() ? at : at + std::prev(next)->removed;
}

std::pair<std::size_t, std::size_t> Joined::original(std::size_t begin, std::size_t end) const {
    return {original_of(begin), original_of(end - 1) + 1};
}

}  // namespace gate
